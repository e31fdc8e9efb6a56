"""Access to parsed JSON of unknown shape: values, pointers (RFC 6901) and `$ref`s.

Nothing is ever fetched: a reference that leads to another document stays unresolved.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import unquote

from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

JsonObject = dict[str, Any]


def as_object(value: object) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


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


_MAX_CHAIN = 32
"""References that lead to references are followed this often; a loop ends here."""


class References:
    """Resolves the references of one document; each distinct one is looked up once.

    Args:
        root: the whole document. It must not change while this is in use.
    """

    def __init__(self, root: object) -> None:
        self._root = root
        self._targets: dict[str, JsonObject | None] = {}

    def resolve(self, value: JsonObject) -> JsonObject:
        """The value at the end of a chain of `$ref`s; the value itself if it has none.

        What comes back still has a `$ref` where that leads out of the document, nowhere, to something that is
        not an object, or in a circle: see `unresolved`.
        """
        for _ in range(_MAX_CHAIN):
            reference = unresolved(value)
            target = self.target(reference) if reference else None
            if target is None:
                return value
            value = target
        return value

    @cached_property
    def _registry(self) -> Registry[Any]:
        registry: Registry[Any] = Registry().with_resource("", Resource.opaque(self._root))
        return registry

    def target(self, reference: str) -> JsonObject | None:
        """The object that a reference leads to, or None: one step of `resolve`."""
        if reference not in self._targets:
            self._targets[reference] = self._look_up(reference)
        return self._targets[reference]

    def _look_up(self, reference: str) -> JsonObject | None:
        try:
            found = self._registry.resolver().lookup(reference).contents
        except (Unresolvable, ValueError, TypeError):  # a pointer into text or a number, or no URI at all
            return None
        return found if isinstance(found, dict) else None


def unresolved(value: JsonObject) -> str:
    """The reference that a value still has, or an empty text."""
    reference = value.get("$ref")
    return reference if isinstance(reference, str) else ""
