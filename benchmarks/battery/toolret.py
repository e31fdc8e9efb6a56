"""A tool as ToolRet publishes it (Shi et al. 2025), which names its fields in the ways of many benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_ingest.json_values import as_string

_NAMES = ("api_name", "name", "func_name", "title")
_TOOLS = ("tool_name", "app_name", "api")
_DESCRIPTIONS = ("api_description", "description", "func_description", "desc")
_PARAMETERS = {
    "required_parameters": True,
    "optional_parameters": False,
    "parameters": False,
    "inputs": False,
}
"""Where parameters stand in one of the published forms → whether those there are required."""
_LONGEST_NAME = 200


def read_tool(source: str, key: str, doc: object) -> ApiDocument:
    """One tool as a document. Without any of the known fields, its whole text is the description."""
    record = doc if isinstance(doc, dict) else {}
    api = _first(record, _NAMES)[:_LONGEST_NAME] or key
    return ApiDocument(
        id=document_id(source, key),
        source=source,
        category=as_string(record.get("category_name"))[:_LONGEST_NAME],
        tool=_first(record, _TOOLS)[:_LONGEST_NAME] or api,
        api=api,
        description=_first(record, _DESCRIPTIONS) or (doc if isinstance(doc, str) else ""),
        parameters=tuple(_parameters(record)),
    )


def _parameters(record: dict[str, Any]) -> Iterator[Parameter]:
    for field, required in _PARAMETERS.items():
        held = record.get(field)
        if isinstance(held, dict) and isinstance(held.get("properties"), dict):
            held = held["properties"]
        for name, each in _named(held):
            if name:
                yield Parameter(
                    name[:_LONGEST_NAME],
                    as_string(_field(each, "type")),
                    required,
                    as_string(_field(each, "description")) or as_string(each),
                )


def _named(held: object) -> Iterator[tuple[str, object]]:
    if isinstance(held, dict):
        yield from held.items()
    elif isinstance(held, list):
        yield from ((as_string(_field(each, "name")), each) for each in held)


def _first(record: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := as_string(record.get(name)))), "")


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
