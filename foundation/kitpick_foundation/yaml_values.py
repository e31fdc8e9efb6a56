"""Reads YAML into JSON values, within limits that are checked before memory is used.

The events of PyYAML's C parser are put together here rather than by its loader, for three reasons: the loader
recurses in C and ends the process on deep nesting; its YAML 1.1 turns dates, `NO` and `12:30` into something
that JSON does not have (these stay text, as in YAML 1.2); and it expands aliases without a bound.

What has no quotes is a number where YAML 1.2 says so, and JSON or YAML 1.1 as well. So `1e5` is a number, as
in JSON, while `08` and `+.5` are text: writers of YAML 1.1, such as PyYAML, leave the quotes off such text,
and nobody writes numbers like that.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml
from yaml import CSafeLoader, events

from kitpick_foundation.errors import KitpickError

MAX_DEPTH = 256
"""Deeper nesting is refused."""


class InvalidYaml(KitpickError):
    """Not YAML, or beyond the limits of this reader."""


_MAX_REPEATED = 1_000
_MERGE = object()
"""Stands for the key `<<` where it has no quotes."""
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0[0-7]{0,399}|[1-9][0-9]{0,399})")
_FLOAT = re.compile(
    r"""[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?                            # of YAML 1.1
    | \.[0-9]+(?:[eE][-+][0-9]+)?                                        # so too
    | -?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?[eE][-+]?[0-9]+                    # of JSON""",
    re.VERBOSE,
)
_NUMBER_STARTS = frozenset("+-.0123456789")
_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))


def parse_yaml(
    data: bytes,
    limit: int,
    *,
    verbatim: bool = False,
    repeated: list[tuple[str, ...]] | None = None,
) -> Any:  # noqa: ANN401
    """The value of a YAML document; keys are text as it is written, the last of two equal keys counts.

    Args:
        data: the document, in UTF-8 or UTF-16.
        limit: characters that the document may have with every alias written out.
        verbatim: whether every scalar stays text as it is written (`010`, `no`, `1.10`), and merge keys and
            equal keys are refused: for documents whose words count, and none of them may be lost.
        repeated: is filled with the places of keys that a mapping has more than once, at most 1,000.

    Raises:
        InvalidYaml: not YAML, several documents, a key that is not text, nesting deeper than `MAX_DEPTH`, an
            alias within its own anchor, or more than `limit` characters when written out; with `verbatim`
            also a merge key, or a key that a mapping has twice.
    """
    builder = _Builder(limit, verbatim, repeated)
    try:
        for event in yaml.parse(data, Loader=CSafeLoader):
            builder.add(event)
    except (yaml.YAMLError, _YamlBeyondBounds, UnicodeDecodeError) as error:
        reason = " ".join(str(error).replace('in "<byte string>", ', "at ").split())
        raise InvalidYaml(f"cannot be parsed as YAML: {reason}") from error
    return builder.value


class _YamlBeyondBounds(ValueError):
    """YAML beyond the limits of this reader."""


class _Open:
    """A collection that is not complete."""

    __slots__ = ("anchor", "key", "merged", "size", "values", "verbatim")

    def __init__(self, values: list[Any] | dict[str, Any], anchor: str | None, verbatim: bool) -> None:
        self.values = values
        self.anchor = anchor
        self.verbatim = verbatim
        self.key: object = None
        self.merged: list[Any] = []
        self.size = 2

    def add(self, value: object) -> None:
        """Adds a finished value: an item, a key, or the value of the key before it."""
        if isinstance(self.values, list):
            self.values.append(value)
        elif self.key is None:
            if value is not _MERGE and not isinstance(value, str):
                raise _YamlBeyondBounds("a key that is not text")
            if self.verbatim:
                self._require_new(value)
            self.key = value
        elif self.key is _MERGE:
            self.merged += value if isinstance(value, list) else [value]
            self.key = None
        elif isinstance(self.key, str):
            self.values[self.key] = value
            self.key = None

    def _require_new(self, key: object) -> None:
        if key is _MERGE:
            raise _YamlBeyondBounds("a merge key")
        if isinstance(self.values, dict) and key in self.values:
            raise _YamlBeyondBounds("a key that a mapping has twice")

    def finish(self) -> list[Any] | dict[str, Any]:
        """The collection with its merges: own keys before merged ones, earlier before later."""
        if isinstance(self.values, dict):
            for other in self.merged:
                if not isinstance(other, dict):
                    raise _YamlBeyondBounds("a merge of something that is not a mapping")
                for key, value in other.items():
                    self.values.setdefault(key, value)
        return self.values

    def has(self, key: object) -> bool:
        """Whether this value would be a key that the mapping has already."""
        return self.awaits_key and isinstance(key, str) and key in self.values

    @property
    def step(self) -> str:
        """The key, or the number, of the member that is being read."""
        return str(len(self.values)) if isinstance(self.values, list) else str(self.key)

    @property
    def awaits_key(self) -> bool:
        """Whether the next value is a key."""
        return isinstance(self.values, dict) and self.key is None


class _Builder:
    """Builds a value from events, and counts the characters that it would take when written out."""

    def __init__(self, limit: int, verbatim: bool, repeated: list[tuple[str, ...]] | None) -> None:
        self.value: Any = None
        self._repeated = repeated
        self._told: set[tuple[str, ...]] = set()
        self._limit = limit
        self._verbatim = verbatim
        self._documents = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def add(self, event: events.Event) -> None:
        """Takes the next event."""
        if isinstance(event, events.ScalarEvent):
            as_key = bool(self._open) and self._open[-1].awaits_key
            value = _key(event) if as_key else event.value if self._verbatim else _scalar(event)
            self._finished(value, len(event.value) + 2, event.anchor)
        elif isinstance(event, events.CollectionStartEvent):
            self._start({} if isinstance(event, events.MappingStartEvent) else [], event.anchor)
        elif isinstance(event, events.CollectionEndEvent):
            closed = self._open.pop()
            self._finished(closed.finish(), closed.size, closed.anchor)
        elif isinstance(event, events.AliasEvent):
            self._finished(*self._target(event.anchor), None)
        elif isinstance(event, events.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _YamlBeyondBounds("several documents in one file")

    def _start(self, values: list[Any] | dict[str, Any], anchor: str | None) -> None:
        if len(self._open) == MAX_DEPTH:
            raise _YamlBeyondBounds(f"nested deeper than {MAX_DEPTH}")
        if anchor:
            self._anchors.pop(anchor, None)
        self._open.append(_Open(values, anchor, self._verbatim))

    def _finished(self, value: object, size: int, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self.value = value
            return
        around = self._open[-1]
        around.size += size
        if around.size > self._limit:
            raise _YamlBeyondBounds(f"more than {self._limit:,} characters with its aliases written out")
        if self._repeated is not None and around.has(value):
            self._tell_repeated(self._repeated, str(value))
        around.add(value)

    def _tell_repeated(self, repeated: list[tuple[str, ...]], key: str) -> None:
        place = (*(each.step for each in self._open[:-1]), key)
        if place not in self._told and len(repeated) < _MAX_REPEATED:
            self._told.add(place)
            repeated.append(place)

    def _target(self, anchor: str | None) -> tuple[Any, int]:
        if anchor is None or anchor not in self._anchors:
            raise _YamlBeyondBounds(f"the alias *{anchor} stands before or within its anchor")
        return self._anchors[anchor]


def _key(event: events.ScalarEvent) -> object:
    return _MERGE if event.value == "<<" and event.implicit[0] else event.value


def _scalar(event: events.ScalarEvent) -> object:
    plain = event.implicit[0] if event.tag is None else event.tag in _CORE_TAGS
    return _plain_value(event.value) if plain else event.value


def _plain_value(text: str) -> object:
    """Value of a scalar without quotes, by the core schema of YAML 1.2 (§10.3.2).

    Numbers are those that JSON or YAML 1.1 has, too.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
