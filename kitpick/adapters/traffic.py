"""Requests to language models as they pass: what is wanted, and which tools must stay.

Bodies of chat completions, Responses and Anthropic's messages. Whatever is not as it should be counts as
absent: to refuse it is the model's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TEXT = frozenset({"text", "input_text"})


def function_name(tool: object) -> str:
    """Name of the function that a definition describes; empty for a hosted tool."""
    if not isinstance(tool, dict) or tool.get("type", "function") not in ("function", "custom"):
        return ""
    inner = tool.get("function", tool)
    return _name(inner)


def last_request(data: dict[str, Any]) -> str:
    """What the user wrote last; results of tools are nobody's words."""
    given = data.get("input")
    if isinstance(given, str):
        return given
    for message in reversed(list(_messages(data))):
        if message.get("role") == "user" and (text := _text(message.get("content"))):
            return text
    return ""


def called_names(data: dict[str, Any]) -> set[str]:
    """Functions that the conversation has called: their definitions have to stay."""
    found = set()
    for message in _messages(data):
        if message.get("type") in ("function_call", "custom_tool_call"):
            found.add(_name(message))
        for call in _items(message.get("tool_calls")):
            found.add(_name(call.get("function")) or _name(call.get("custom")))
        for block in _items(message.get("content")):
            if block.get("type") == "tool_use":
                found.add(_name(block))
    return found - {""}


def forced_names(data: dict[str, Any]) -> set[str]:
    """Functions that `tool_choice` names."""
    choice = data.get("tool_choice")
    if not isinstance(choice, dict):
        return set()
    allowed = choice.get("allowed_tools", choice)
    choices = [choice, *_items(allowed.get("tools") if isinstance(allowed, dict) else None)]
    return {_name(item.get("function", item)) for item in choices} - {""}


def _messages(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _items(data.get("messages"))
    yield from _items(data.get("input"))


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _name(value: object) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    parts = [item.get("text") for item in _items(content) if item.get("type") in _TEXT]
    return "\n".join(part for part in parts if isinstance(part, str)).strip()
