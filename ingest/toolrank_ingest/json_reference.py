"""`$ref`s within one document. Nothing is ever fetched: a reference that leads elsewhere stays unresolved."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from toolrank_ingest.json_values import JsonObject

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
        """What the value's `$ref` leads to at last; itself where it has none.

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
    """The reference that a value still has, or nothing."""
    reference = value.get("$ref")
    return reference if isinstance(reference, str) else ""
