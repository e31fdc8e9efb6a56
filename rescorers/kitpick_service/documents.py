"""Documents of rerank requests: the text that a model reads, and the place in the hierarchy of tools.

A string is plain text, whatever it looks like. It is read as YAML only where the request says so
(`document_format: "yaml"`), because prose with a line such as `category: support` is common. An object is a
structured document: `tool`, `category` and `api` (or `name`) say where it stands, and every field that has no
such meaning is part of what is scored, unless the request names the fields that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from kitpick_engines.contract import Candidate, Place
from kitpick_engines.document import ApiDocument, Parameter
from kitpick_engines.text import first_sentences, plain, rerank_text
from kitpick_foundation.visible import says_nothing
from kitpick_foundation.yaml_values import InvalidYaml, parse_yaml
from kitpick_service.errors import Invalid
from kitpick_service.exchange import NO_VECTOR
from kitpick_service.ticket import Ticket

Given = str | dict[str, Any]
"""A document as clients send it."""
DocumentFormat = Literal["text", "yaml"]
"""Format of the strings among the documents."""

_MOST_YAML = 64 * 1024
"""Characters of a YAML document, with every alias written out: no description of an API is that long."""
_MOST_TIMES = 8
"""Times its own length that a YAML document may have so: what waits is bounded by the bytes sent."""
_MOST_WARNINGS = 20
_PLACE = ("tool", "category", "api", "name")


class RerankDocument(msgspec.Struct, frozen=True):
    """One document: what the model reads, and where in the hierarchy it stands."""

    text: str
    tool: str = ""
    category: str = ""
    api: str = ""
    partly: tuple[str, ...] = ()
    """Fields that the text holds in part only, as that of an API does: of parameters it has some names."""

    def candidate(self, position: int) -> Candidate:
        """The candidate at this position from 0; the order of documents is that of the first stage."""
        place = Place(position + 1, 0.0)
        name = str(position)
        api = self.api or name
        return Candidate(name, self.category, self.tool, api, self.text, NO_VECTOR, place, place)


class ReadDocuments(msgspec.Struct, frozen=True):
    """The documents of a request, and warnings about some of them."""

    items: tuple[RerankDocument, ...]
    warnings: tuple[str, ...] = ()


def read_documents(
    given: Sequence[Given],
    ticket: Ticket,
    fields: Sequence[str] = (),
    document_format: DocumentFormat = "text",
) -> ReadDocuments:
    """Reads the documents of a request. The ticket is checked before each of them.

    Args:
        given: as they were sent.
        ticket: of the request.
        fields: names of those whose contents, in this order, are the text of an object; all where empty.
        document_format: what strings are. One that is no YAML within bounds is read as plain text, and a
            warning says so.

    Raises:
        Invalid: an object that holds something without a text, such as an integer of thousands of digits.
        DeadlinePassed, Cancelled: nobody waits any more.
    """
    items, warnings = [], []
    for position, document in enumerate(given):
        ticket.check()
        try:
            read = _from_yaml(document) if document_format == "yaml" else document
        except InvalidYaml as error:
            warnings.append(f"documents[{position}] was read as plain text: {error}"[:300])
            read = document
        try:
            items.append(read_document(read, fields))
        except Invalid as error:
            raise Invalid(f"documents[{position}]: {error}") from error
        if says_nothing(items[-1].text):
            warnings.append(f"documents[{position}] says nothing and was placed last")
    warnings = [*_scored_in_part(items), *warnings]
    more = len(warnings) - _MOST_WARNINGS
    shown = [*warnings[:_MOST_WARNINGS], *([f"and {more:,} more"] if more > 0 else [])]
    return ReadDocuments(tuple(items), tuple(shown))


def _scored_in_part(items: Sequence[RerankDocument]) -> list[str]:
    """At most one warning, for all documents together."""
    places = [position for position, item in enumerate(items) if item.partly]
    if not places:
        return []
    names = " and ".join(sorted({name for item in items for name in item.partly}))
    return [f"{names} of {these_documents(places)} were scored in part only, as those of an API are"]


def these_documents(positions: Sequence[int]) -> str:
    """Documents of a request by the first of their positions."""
    more = len(positions) - 1
    return f"documents[{positions[0]}]{f' and {more:,} more' if more else ''}"


def read_document(given: Given, fields: Sequence[str] = ()) -> RerankDocument:
    """Reads one document: a string as it is, an object by its fields.

    Raises:
        Invalid: it holds something without a text.
    """
    if isinstance(given, str):
        return RerankDocument(given)
    place = {key: _text_of(given[key]) for key in _PLACE if isinstance(given.get(key), (str, int, float))}
    tool, category = place.get("tool", ""), place.get("category", "")
    api_field = "api" if place.get("api") else "name"
    api = place.get(api_field, "")
    if fields:
        named = [_text_of(given[field]) for field in fields if given.get(field) is not None]
        return RerankDocument("\n".join(named), tool, category, api)
    read = {key for key in ("tool", "category", api_field) if key in place}
    text = _text_of(given.get("text"))
    partly: tuple[str, ...] = ()
    if text:
        read.add("text")
    elif tool or category or api:
        text, described = _described(given, tool, category, api)
        read |= described
        partly = tuple(name for name in sorted(described) if _has_more(given[name], text))
    rest = [
        f"{key}: {_text_of(value)}" for key, value in given.items() if key not in read and value is not None
    ]
    return RerankDocument("\n".join(filter(None, [text, *rest])), tool, category, api, partly)


def _from_yaml(given: Given) -> Given:
    """Parses a string as a YAML mapping."""
    if not isinstance(given, str):
        return given
    if len(given) > _MOST_YAML:
        raise InvalidYaml(f"longer than {_MOST_YAML:,} characters")
    limit = min(_MOST_YAML, _MOST_TIMES * len(given))
    found = parse_yaml(given.encode("utf-8", "replace"), limit, verbatim=True)
    if not isinstance(found, dict):
        raise InvalidYaml("no mapping of fields to contents")
    return found


def _described(given: Mapping[str, Any], tool: str, category: str, api: str) -> tuple[str, set[str]]:
    """The rerank text of an API that is described in fields, and the names of the fields it uses.

    What the rerank text leaves out of a long description follows it: a caller's words are all scored.
    """
    names, description = _parameters(given.get("parameters")), given.get("description")
    read = ({"description"} if isinstance(description, str) else set()) | ({"parameters"} if names else set())
    document = ApiDocument(
        id="",
        source="",
        category=category,
        tool=tool,
        api=api,
        description=description if isinstance(description, str) else "",
        parameters=tuple(map(Parameter, names)),
    )
    rest = plain(document.description)[len(first_sentences(document.description)) :].strip()
    return "\n".join(filter(None, [rerank_text(document), rest])), read


def _has_more(given: object, text: str) -> bool:
    """Whether a description or parameters say anything that the text of their API does not.

    The text has a description without its markup and up to a length, and some names of parameters.
    """
    if isinstance(given, list):
        named = [item for item in given if isinstance(item, dict)]
        names = [item if isinstance(item, str) else item.get("name") for item in given]
        more = any(value is not None for item in named for key, value in item.items() if key != "name")
    elif isinstance(given, dict):
        names, more = list(given), any(value is not None for value in given.values())
    else:
        names, more = [given], False
    held = _letters(text)
    return more or any(_letters(str(name)) not in held for name in names)


def _letters(text: str) -> str:
    """Letters and digits alone: names of parameters are split in the text of an API."""
    return "".join(filter(str.isalnum, text))


def _parameters(given: object) -> list[str]:
    """Names of parameters, from a list of names, a list of objects, or an object by name.

    Empty unless every one has a name: then they are a field like any other.
    """
    items = list(given) if isinstance(given, (list, dict)) else []
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    found = [name for name in names if isinstance(name, str)]
    return found if len(found) == len(items) else []


def _text_of(value: object) -> str:
    """A value as text: strings as they are, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return msgspec.json.encode(value).decode()
    except (OverflowError, RecursionError, ValueError, TypeError) as error:
        raise Invalid("a value that is too large, or nested too deep") from error
