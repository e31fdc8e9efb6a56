"""The result of a call as a server sent it: an odd part is shown as text, and costs no other."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import mcp_types
from pydantic import TypeAdapter, ValidationError

_BESIDE = ("annotations", "_meta")
"""Fields that say something about a part, and are no part of it."""


def relieve_result(result: dict[str, Any]) -> None:
    """Changes a result so that the SDK reads it: of content that is none by the protocol the text is kept."""
    content = result.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    result["content"] = [_part(each) for each in parts]
    structured = result.get("structuredContent", {})
    if not isinstance(structured, dict):
        del result["structuredContent"]
        if not parts and structured is not None:
            result["content"] = [_text(structured)]


def _part(sent: object) -> object:
    bare = {key: value for key, value in sent.items() if key not in _BESIDE} if isinstance(sent, dict) else {}
    return next((each for each in (sent, bare) if _is_content(each)), None) or _text(sent)


def _text(sent: object) -> dict[str, str]:
    """A part of text: what it says, else the part as JSON."""
    said = sent.get("text") if isinstance(sent, dict) else sent
    return {"type": "text", "text": said if isinstance(said, str) else json.dumps(sent, ensure_ascii=False)}


def _is_content(part: object) -> bool:
    if not isinstance(part, dict) or "type" not in part:
        return False
    try:
        _content().validate_python(part, by_name=False)
    except ValidationError:
        return False
    return True


@cache
def _content() -> TypeAdapter[mcp_types.ContentBlock]:
    return TypeAdapter(mcp_types.ContentBlock)
