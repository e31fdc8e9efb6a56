"""Messages of Anthropic and items of OpenAI, dictionaries or objects of the SDKs, read as they come.

Malformed parts count as absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any


def plain(message: Any) -> dict[str, Any]:  # noqa: ANN401 - a dictionary, or an object of an SDK
    """A message as a dictionary; empty for what is none."""
    if hasattr(message, "model_dump"):
        message = message.model_dump(exclude_none=True)
    return message if isinstance(message, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON value, or a list of SDK objects
    """The members of a list, each as a dictionary; none of what is no list."""
    return [plain(item) for item in value] if isinstance(value, list | tuple) else []


def plain_conversation(conversation: Sequence[Any]) -> list[dict[str, Any]]:
    """Messages or items as dictionaries through and through."""
    messages = objects(conversation)
    return [
        message | {"content": objects(message["content"])}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def given_functions(tools: object) -> Iterator[str]:
    """Names of functions, alone or in namespaces."""
    for tool in objects(tools):
        grouped = tool.get("type") == "namespace"
        yield from (text_of(one.get("name")) for one in (objects(tool.get("tools")) if grouped else [tool]))


def text_of(value: object) -> str:
    """The value where it is text, else nothing."""
    return value if isinstance(value, str) else ""


def tool_uses(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Its `tool_use` blocks."""
    blocks = objects(message.get("content"))
    return [
        block
        for block in blocks
        if block.get("type") == "tool_use" and text_of(block.get("id")) and text_of(block.get("name"))
    ]


def referenced_tools(messages: Sequence[dict[str, Any]], search: str) -> Iterator[str]:
    """Names that answers to searches refer to; what another tool's result says loads nothing."""
    searches: set[str] = set()
    for message in messages:
        if message.get("role") == "assistant":
            searches |= {use["id"] for use in tool_uses(message) if use["name"] == search}
            continue
        for block in objects(message.get("content")):
            if block.get("type") == "tool_result" and block.get("tool_use_id") in searches:
                found = objects(block.get("content"))
                yield from (
                    text_of(one.get("tool_name")) for one in found if one.get("type") == "tool_reference"
                )


def without_references(message: object, gone: Collection[str], instead: str) -> object:
    """A message of Anthropic without references to some tools; a result that has none left says so."""
    blocks = objects(plain(message).get("content"))
    kept = [_fewer_references(block, gone, instead) for block in blocks]
    return plain(message) | {"content": kept} if kept != blocks else message


def _fewer_references(block: dict[str, Any], gone: Collection[str], instead: str) -> dict[str, Any]:
    parts = objects(block.get("content")) if block.get("type") == "tool_result" else []
    left = [
        part for part in parts if not (part.get("type") == "tool_reference" and part.get("tool_name") in gone)
    ]
    return block if left == parts else block | {"content": left or instead}


def without_functions(item: object, gone: Collection[str]) -> object:
    """An answer to OpenAI's tool search without some functions, nor namespaces that have none left."""
    given = plain(item)
    if given.get("type") != "tool_search_output":
        return item
    tools = []
    for tool in objects(given.get("tools")):
        if tool.get("type") == "namespace":
            inner = [one for one in objects(tool.get("tools")) if one.get("name") not in gone]
            tools += [tool | {"tools": inner}] if inner else []
        elif tool.get("name") not in gone:
            tools.append(tool)
    return given | {"tools": tools}
