"""Documents as tool definitions for a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from kitpick_engines.document import ApiDocument, Effect
from kitpick_ingest.function_names import function_names
from kitpick_ingest.json_values import JsonObject
from kitpick_ingest.native_schema import input_schema, native_definition

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
