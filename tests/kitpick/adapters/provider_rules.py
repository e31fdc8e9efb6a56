"""Rules of the providers' tool searches, as their documentation states them, over whole requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def breaches(body: dict[str, Any]) -> list[str]:
    """Rules of the Messages API that a request with deferred tools breaks."""
    messages = body["messages"]
    deferred = {tool["name"] for tool in body["tools"] if tool.get("defer_loading")}
    found = breaches_of_the_list(body["tools"], deferred)
    for message, after in zip(messages, [*messages[1:], None], strict=True):
        blocks = message["content"] if isinstance(message["content"], list) else []
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        begin = after["content"][: len(calls)] if calls and after else []
        if [block.get("tool_use_id") for block in begin] != calls:
            found.append(f"calls {calls} are not answered at once, in order, before anything else")
        for block in blocks:
            found += breaches_of_references(block, deferred)
    return found


def breaches_of_the_list(tools: list[dict[str, Any]], deferred: set[str]) -> list[str]:
    rules = {
        "two tools of one name": len({tool["name"] for tool in tools}) < len(tools),
        "every tool is deferred": len(deferred) == len(tools),
        "a deferred tool holds a cache breakpoint": any(
            tool.get("defer_loading") and "cache_control" in tool for tool in tools
        ),
    }
    return [rule for rule, broken in rules.items() if broken]


def breaches_of_references(block: dict[str, Any], deferred: set[str]) -> list[str]:
    inner = block.get("content") if block["type"] == "tool_result" else None
    parts = inner if isinstance(inner, list) else []
    references = [part["tool_name"] for part in parts if part["type"] == "tool_reference"]
    rules = {
        "references beside other blocks": 0 < len(references) < len(parts),
        "a reference to a tool that is not deferred": not deferred.issuperset(references),
    }
    return [rule for rule, broken in rules.items() if broken]


def namespace_breaches(tools: Sequence[dict[str, Any]]) -> list[str]:
    """Rules that namespaces break, of a request or of one answer."""
    groups = [tool for tool in tools if tool["type"] == "namespace"]
    names = [group["name"] for group in groups] + [one["name"] for group in groups for one in group["tools"]]
    rules = {
        "a namespace twice": len({group["name"] for group in groups}) < len(groups),
        "a namespace without functions": not all(group["tools"] for group in groups),
        "a namespace without a description": not all(group["description"] for group in groups),
        "a namespace is deferred, not its functions": any("defer_loading" in group for group in groups),
        "a name that is refused": not all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names),
    }
    return [rule for rule, broken in rules.items() if broken]


def functions(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Functions, alone or in namespaces."""
    return [one for tool in tools for one in (tool["tools"] if tool["type"] == "namespace" else [tool])]


def item_breaches(body: dict[str, Any]) -> list[str]:
    """Rules of the Responses API that an input with a client's tool search breaks."""
    answered_by = {"function_call": "function_call_output", "tool_search_call": "tool_search_output"}
    given = {tool["name"] for tool in body["tools"] if tool["type"] == "function"}
    loaded: set[str] = set()
    waiting: dict[str, str] = {}
    found = [] if body["tools"][0]["type"] == "tool_search" else ["the search is not the first tool"]
    found += namespace_breaches(body["tools"])
    for item in body["input"]:
        kind, call = item.get("type", "message"), item.get("call_id")
        if kind in answered_by:
            waiting[call] = answered_by[kind]
        elif kind in answered_by.values():
            if waiting.pop(call, None) != kind:
                found.append(f"{kind} answers no call {call}, or is not of its kind, or is the second one")
            found += namespace_breaches(item.get("tools", ()))
            names = [tool["name"] for tool in functions(item.get("tools", ()))]
            if given.intersection(names) or len(set(names)) < len(names):
                found.append(f"{names} are given already, or twice")
            if not all(tool["defer_loading"] for tool in functions(item.get("tools", ()))):
                found.append(f"one of {names} is loaded without being deferred")
            loaded |= set(names)
        elif waiting:
            found.append(f"{kind} comes before the answers to {list(waiting)}")
    return found + [f"{call} is not answered" for call in waiting]
