"""Dependencies that a description declares: a list `depends_on` of the calls that must come before.

Each is the name of an API, or an object with more: `tool`, where it is of another tool of the same category,
and `input`, which its answer fills. Nothing is inferred of them: they count for certain.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from kitpick_engines.document import Thing, escape_part
from kitpick_foundation.decoding import convert_to
from kitpick_ingest.entries import BadEntry

MAX_DECLARED = 100
"""How many declarations of one API are read."""
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=150)]


class Dependency(msgspec.Struct, frozen=True):
    """A call that must come before another one. Other fields, such as the reason, are left alone."""

    name: _Name
    """Name of the API."""
    tool: Annotated[str, msgspec.Meta(max_length=150)] = ""
    """Where it is not of the same tool."""
    input: Annotated[str, msgspec.Meta(max_length=80)] = ""
    """The input that its answer fills; empty where it only has to be made."""


_Declared = _Name | Annotated[tuple[_Name | Dependency, ...], msgspec.Meta(max_length=MAX_DECLARED)] | None


def declared(value: object) -> tuple[Thing, ...]:
    """The calls that `depends_on` names, as things that are needed for certain; none for None.

    Raises:
        BadEntry: it is no such list.
    """
    try:
        found = convert_to(value, _Declared) or ()
    except msgspec.ValidationError as error:
        raise BadEntry(f"depends_on is no list of names or of objects with `name`: {error}") from error
    found = (found,) if isinstance(found, str) else found
    return tuple(_thing(Dependency(each) if isinstance(each, str) else each) for each in found)


def _thing(dependency: Dependency) -> Thing:
    name = escape_part(dependency.name)
    tool = f"{escape_part(dependency.tool)}/" if dependency.tool else ""
    return Thing(f"{tool}{name}" if tool else dependency.name, "call", 1.0, dependency.input)
