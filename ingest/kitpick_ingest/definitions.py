"""Documents as tool definitions for a language model: whole, or slimmed for a narrow context window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from kitpick_engines.document import ApiDocument, Effect
from kitpick_ingest.function_names import function_names
from kitpick_ingest.json_values import JsonObject, as_object
from kitpick_ingest.native_schema import input_schema, native_definition
from kitpick_ingest.prose import clip

DefinitionFormat = Literal["openai", "responses", "anthropic", "mcp"]

_MAX_OPENAI_DESCRIPTION = 1_024
"""OpenAI refuses a whole request for one longer description."""


def render_definitions(
    documents: Sequence[ApiDocument],
    format: DefinitionFormat,  # noqa: A002
) -> list[dict[str, Any]]:
    """A definition for each document, in their order.

    The formats are OpenAI's for chat completions and for Responses, Anthropic's, and that of MCP.

    Names come from `function_names`, so that `documents_by_name` leads from a model's call to the document.
    The schema of a function or an MCP tool is returned as it was published; other APIs get one drawn up from
    their parameters. OpenAI's `strict` and the annotations and output schema of an MCP tool are kept.
    """
    render = _RENDERERS[format]
    return [
        render(name, document) for name, document in zip(function_names(documents), documents, strict=True)
    ]


def _openai(name: str, document: ApiDocument) -> JsonObject:
    function: JsonObject = {"name": name}
    if document.description:
        function["description"] = document.description[:_MAX_OPENAI_DESCRIPTION]
    function["parameters"] = input_schema(document)
    if isinstance(strict := native_definition(document).get("strict"), bool):
        function["strict"] = strict
    return {"type": "function", "function": function}


def _responses(name: str, document: ApiDocument) -> JsonObject:
    """The flat form of Responses. `strict` is always present, because OpenAI's default is true."""
    return {"type": "function", "strict": False, **_openai(name, document)["function"]}


def _anthropic(name: str, document: ApiDocument) -> JsonObject:
    described = {"description": document.description} if document.description else {}
    return {"name": name, **described, "input_schema": input_schema(document)}


def _mcp(name: str, document: ApiDocument) -> JsonObject:
    native = native_definition(document)
    tool: JsonObject = {"name": name}
    if document.description:
        tool["description"] = document.description
    tool["inputSchema"] = input_schema(document)
    if "inputSchema" in native:
        kept = ("title", "outputSchema", "annotations")
        return tool | {key: native[key] for key in kept if native.get(key) is not None}
    return tool | ({"annotations": hints} if (hints := _HINTS.get(document.effect)) else {})


_HINTS = {
    Effect.READ: {"readOnlyHint": True},
    Effect.WRITE: {"readOnlyHint": False, "destructiveHint": False},
    Effect.DESTRUCTIVE: {"readOnlyHint": False, "destructiveHint": True},
}

_RENDERERS: dict[str, Callable[[str, ApiDocument], JsonObject]] = {
    "openai": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "mcp": _mcp,
}


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
