"""Shortens the prose of definitions, for a narrow context window. Everything a call needs is kept."""

from __future__ import annotations

from typing import Any

from kitpick_ingest.json_values import JsonObject, as_object
from kitpick_ingest.prose import clip

MAX_DESCRIPTION = 200
"""Characters of what the API does: its first sentence, where that is shorter."""
MAX_FIELD = 80
"""Characters of what is said about one input."""

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_COMMENTARY = frozenset({"title", "example", "examples", "$comment", "externalDocs", "xml", "$schema"})
"""Keywords that neither allow nor forbid a value and that a call does not need."""
_ONE = frozenset(
    {"additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"items", "additionalItems", "unevaluatedItems", "unevaluatedProperties"}
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_MAX_DEPTH = 64


def slim_definition(definition: JsonObject) -> JsonObject:
    """A definition of `render_definitions`, slimmed: it takes exactly the inputs that the whole one takes.

    Descriptions are cut to their first sentence, titles, examples and vendor extensions are left out, as is
    the schema of what comes back.
    """
    if definition.get("type") == "function" and "function" in definition:
        return definition | {"function": slim_definition(as_object(definition["function"]))}
    slim = {key: value for key, value in definition.items() if key not in ("outputSchema", "title")}
    if "description" in slim:
        slim["description"] = _first_sentence(str(slim["description"]), MAX_DESCRIPTION)
    for key in _SCHEMAS:
        if key in slim:
            slim[key] = _slim_schema(slim[key], _MAX_DEPTH)
    return slim


def _slim_schema(schema: Any, depth: int) -> Any:  # noqa: ANN401 - a schema is an object or a boolean
    if not isinstance(schema, dict) or depth == 0:
        return schema
    return {
        key: _slim_value(key, value, depth - 1)
        for key, value in schema.items()
        if key not in _COMMENTARY and not key.startswith("x-")
    }


def _slim_value(key: str, value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON value
    if key == "description" and isinstance(value, str):
        return _first_sentence(value, MAX_FIELD)
    if key in _NAMED and isinstance(value, dict):
        return {name: _slim_schema(schema, depth) for name, schema in value.items()}
    if key in _MANY and isinstance(value, list):
        return [_slim_schema(schema, depth) for schema in value]
    return _slim_schema(value, depth) if key in _ONE else value


def _first_sentence(text: str, limit: int) -> str:
    sentence, dot, _ = " ".join(text.split()).partition(". ")
    return clip(sentence + dot.strip(), limit)
