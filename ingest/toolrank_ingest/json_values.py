"""Values of a parsed document whose shape nobody has checked."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]


def as_object(value: object) -> JsonObject:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: object) -> str:
    """The value where it is text, without white space around it, else nothing."""
    return value.strip() if isinstance(value, str) else ""
