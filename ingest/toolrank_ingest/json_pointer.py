"""JSON pointers (RFC 6901): where in a document a value stands."""

from __future__ import annotations

from urllib.parse import unquote


def pointer(*segments: str) -> str:
    """`("paths", "/users")` → `/paths/~1users`."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)


def segments(reference: str) -> tuple[str, ...]:
    """Inverse of `pointer`, for one in URI fragment form (§6): `#/paths/~1users` → `("paths", "/users")`."""
    parts = unquote(reference.partition("#")[2]).split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)
