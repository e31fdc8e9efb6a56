"""JSON pointers (RFC 6901): where in a document a value stands."""

from __future__ import annotations


def pointer(*segments: str) -> str:
    """`("paths", "/users")` → `/paths/~1users`."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)
