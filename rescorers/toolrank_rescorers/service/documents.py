"""Documents of rerank requests: plain text, objects, or YAML that tells tool and category of an API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from toolrank_engines.contract import Candidate, Place
from toolrank_engines.document import ApiDocument, Parameter
from toolrank_engines.text import rerank_text
from toolrank_rescorers.service.exchange import NO_VECTOR

Given = str | dict[str, Any]
"""As clients send them."""

_LOOKS_STRUCTURED = re.compile(r"^(?:tool|category|api|name|description|text)[ \t]*:", re.MULTILINE)
_SAYS_TOOL = re.compile(r"^(?:tool|category)[ \t]*:", re.MULTILINE)
_MOST_YAML = 64 * 1024
"""Longer ones are read as plain text: no description of an API is that long."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class RerankDocument(msgspec.Struct, frozen=True):
    """One document: what the model reads, and where in the hierarchy it stands."""

    text: str
    tool: str = ""
    category: str = ""
    api: str = ""

    def candidate(self, position: int) -> Candidate:
        """The candidate at this position from 0; the order of documents is that of the first stage."""
        place = Place(position + 1, 0.0)
        name = str(position)
        api = self.api or name
        return Candidate(name, self.category, self.tool, api, self.text, NO_VECTOR, place, place)


def read_document(given: Given, fields: Sequence[str] = ()) -> RerankDocument:
    """What a document says. `fields` names those whose contents, in order, are the text."""
    if isinstance(given, dict):
        return _structured(given, fields)
    parsed = _yaml(given)
    return RerankDocument(given) if parsed is None else _structured(parsed, fields)


def _yaml(text: str) -> Mapping[str, Any] | None:
    """The mapping that a text is, if it is YAML that names a tool or a category."""
    if len(text) > _MOST_YAML or not _SAYS_TOOL.search(text) or not _LOOKS_STRUCTURED.match(text.lstrip()):
        return None
    try:
        found = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader, in C where there is one
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _structured(given: Mapping[str, Any], fields: Sequence[str]) -> RerankDocument:
    tool, category = _word(given, "tool"), _word(given, "category")
    api = _word(given, "api") or _word(given, "name")
    if fields:
        text = "\n".join(_word(given, field) for field in fields if given.get(field) is not None)
    else:
        text = _word(given, "text") or _described(given, tool, category, api)
    return RerankDocument(text, tool, category, api)


def _described(given: Mapping[str, Any], tool: str, category: str, api: str) -> str:
    """The text of ingestion, of an API told in fields; or whatever words there are."""
    if not (tool or category or api):
        return "\n".join(f"{key}: {value}" for key, value in given.items() if isinstance(value, str))
    document = ApiDocument(
        id="",
        source="",
        category=category,
        tool=tool,
        api=api,
        description=_word(given, "description"),
        parameters=_parameters(given.get("parameters")),
    )
    return rerank_text(document)


def _parameters(given: object) -> tuple[Parameter, ...]:
    """Names, whether they come as a list of names, a list of objects, or an object by name."""
    items = list(given) if isinstance(given, (list, dict)) else []
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    return tuple(Parameter(name) for name in names if isinstance(name, str))


def _word(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
