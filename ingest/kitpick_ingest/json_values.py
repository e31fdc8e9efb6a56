"""Access to parsed JSON of unknown shape: values and pointers (RFC 6901)."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import msgspec

JsonObject = dict[str, Any]


def as_object(value: object) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def decoded_object(text: str) -> JsonObject:
    """The object that a JSON text holds, an empty one where it holds none or is no JSON."""
    try:
        return as_object(msgspec.json.decode(text)) if text else {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def as_list(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: object) -> str:
    """The value if it is text, without surrounding white space, else an empty text."""
    return value.strip() if isinstance(value, str) else ""


def pointer(*segments: str) -> str:
    """`("paths", "/users")` → `/paths/~1users`."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)


def segments(reference: str) -> tuple[str, ...]:
    """Inverse of `pointer`, for one in URI fragment form (§6): `#/paths/~1users` → `("paths", "/users")`."""
    parts = unquote(reference.partition("#")[2]).split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)
