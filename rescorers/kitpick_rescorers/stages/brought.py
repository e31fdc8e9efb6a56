"""What a request brings itself: identifiers, names and dates in words, and what its conversation holds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from kitpick_engines.document import ROLES, Thing
from kitpick_engines.text import split_identifier
from kitpick_rescorers.state import HeldIdentifier

_MOST_READ = 20_000
"""Characters of a request."""
_MOST_OF_VALUE = 500
"""Characters of what is held."""
_IDENTIFIER = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\barn:\w|\bhttps?://\S"
    r"|\b[a-z]{1,8}-[0-9a-f]{6,}\b"
    r"|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{10,}\b"
    r"|#\d+\b|\b\d{5,}\b"
)
_NAME = re.compile(
    r"[\"“”„«`][^\"“”„«»`]{1,80}[\"”“»`]|(?<!\w)'[^']{2,80}'(?!\w)|\b[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)+\b"
)
_PATHS = ("name", "parent")
"""Inputs of Google's APIs that want the whole name of a resource."""
_PATH = re.compile(r"\b[A-Za-z]\w*/[\w.@-]*\d|\b[A-Za-z]\w*/[\w.@-]+/\w")
_DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./]\d{1,2}\b")
_ONE_FOR_ANOTHER = frozenset(("id", "arn", "key"))
"""Roles of which services commonly take one where they ask for another."""


class Brought:
    """What a request brings: what stands in its words, and what the conversation holds beside it.

    Words: dates, literal identifiers, and names in quotes or of machine-made form. A name that is a path
    through everything around a thing, `accounts/7/sites/3`, is in no quoted word. Held: what is named after
    the thing that is needed; what has no name counts as if it stood in the request.
    """

    def __init__(self, request: str, held: Sequence[HeldIdentifier] = ()) -> None:
        nameless = (each.value[:_MOST_OF_VALUE] for each in held if not each.name)
        start = "\n".join((request[:_MOST_READ], *nameless))
        self._identifier = _IDENTIFIER.search(start) is not None
        self._name = self._identifier or _NAME.search(start) is not None
        self._path = _PATH.search(start) is not None
        self._date = _DATE.search(start) is not None
        self._held = _HeldNames(each for each in held if each.name)

    def brings(self, need: Thing) -> bool:
        """Whether it may be what a need asks for."""
        return self._says(need) or self.holds(need)

    def holds(self, need: Thing) -> bool:
        """Whether something that is held by name is what a need asks for."""
        return self._held.fill(need)

    def _says(self, need: Thing) -> bool:
        if need.role == "call":
            return bool(need.input) and self._identifier
        if need.resource == "date":
            return self._date
        if _wants_path(need):
            return self._path
        return self._name if need.role == "name" else self._identifier


class _HeldNames:
    """The things that held identifiers are of, by the last word of their names."""

    def __init__(self, held: Iterable[HeldIdentifier]) -> None:
        self._by_head: defaultdict[str, set[tuple[frozenset[str], str, bool]]] = defaultdict(set)
        for each in held:
            words = split_identifier(each.name[:200]).lower().split()
            role = ROLES.get(words[-1], "") if words else ""
            about = words[:-1] if role else words
            if about and each.value:
                is_path = _PATH.search(each.value[:_MOST_OF_VALUE]) is not None
                self._by_head[_stem(about[-1])].add((frozenset(map(_stem, about)), role, is_path))

    def fill(self, need: Thing) -> bool:
        """Whether one is of the thing, or of one of which either says more: `instance`, `db instance`."""
        if not self._by_head:
            return False
        called = need.role == "call"  # the input alone says what is wanted
        resource, role = _of_input(need.input) if called else (need.resource, need.role)
        wanted = stems(resource)
        return any(
            (about <= wanted or wanted <= about)
            and _alike(held_role, role)
            and (is_path or called or not _wants_path(need))
            for about, held_role, is_path in self._by_head.get(_stem(head(resource)), ())
        )


def _alike(held: str, needed: str) -> bool:
    return held == needed or not held or not needed or {held, needed} <= _ONE_FOR_ANOTHER


def _of_input(name: str) -> tuple[str, str]:
    words = split_identifier(name[:200]).lower().split()
    role = ROLES.get(words[-1], "") if words else ""
    return " ".join(words[:-1] if role else words), role


def _wants_path(need: Thing) -> bool:
    return need.role == "name" and need.input in _PATHS


def head(resource: str) -> str:
    """`db instance` → `instance`."""
    return resource.rpartition(" ")[2]


@lru_cache(16_384)
def stems(text: str) -> frozenset[str]:
    """The words of a name or a text, without a plural's `s`."""
    return frozenset(map(_stem, split_identifier(text[:2_000]).lower().split()))


def _stem(word: str) -> str:
    return word.rstrip("s")
