"""Documents as tool definitions for a language model: whole, or slimmed for a narrow context window."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.function_forms import inner_function, schema_of
from kitpick_ingest.function_names import MAX_NAME, function_names, slug
from kitpick_ingest.input_schemas import MANY, NAMED, ONE, InputSchemas
from kitpick_ingest.json_values import JsonObject, as_object, decoded_object
from kitpick_ingest.prose import clip
from kitpick_ingest.references import References

_TYPES = {
    "string": "string",
    "str": "string",
    "enum": "string",
    "number": "number",
    "float": "number",
    "double": "number",
    "integer": "integer",
    "int": "integer",
    "long": "integer",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "map": "object",
    "structure": "object",
}
_ACCEPTED = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Names of properties that Anthropic and OpenAI accept."""
_MAX_DEPTH = 64
_OBJECTS = frozenset(
    {"properties", "patternProperties", "additionalProperties", "items", "$defs", "definitions"}
)
_VALUES = frozenset({"default", "const", "enum", "example", "examples"})
"""Keywords that hold values, and no schemas."""


def native_definition(document: ApiDocument) -> JsonObject:
    """The definition if it is a function that takes one JSON object, else an empty object.

    Those are MCP tools (`inputSchema`) and functions in every form of `function_forms`; of one that is
    wrapped the inner object.
    """
    inner = inner_function(decoded_object(document.definition))
    return inner if inner.get("name") == document.api and schema_of(inner) is not None else {}


def input_schema(document: ApiDocument) -> JsonObject:
    """JSON Schema of an object that holds the inputs.

    A native schema comes back as it was written, with `type: object` where it says no type; types of Gemini
    (`STRING`) are written as JSON Schema writes them, and an object that came as an empty list (as PHP writes
    it) as an object: providers refuse the whole request for either.
    """
    schema = schema_of(native_definition(document))
    if schema is None:
        return listed_schema(document.parameters, decoded_object(document.inputs))
    if str(schema.get("type", "")).isupper():  # Gemini's
        schema = InputSchemas(References(schema).target).whole(schema)
    if "[]" in document.definition:
        schema = _with_objects(schema)
    return schema if "type" in schema else {"type": "object", **schema}


def _with_objects(schema: JsonObject, depth: int = _MAX_DEPTH) -> JsonObject:
    """A schema without empty lists where objects belong."""
    return {
        key: {} if key in _OBJECTS and value == [] else _with_objects_in(key, value, depth)
        for key, value in schema.items()
    }


def _with_objects_in(key: str, value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON
    if key in _VALUES or depth == 0:
        return value
    if isinstance(value, list):
        return [_with_objects_in("", each, depth - 1) for each in value]
    return _with_objects(value, depth - 1) if isinstance(value, dict) else value


def listed_schema(parameters: tuple[Parameter, ...], inputs: Mapping[str, Any] | None = None) -> JsonObject:
    """A schema made from names, types, descriptions and required parameters, and what is known beyond these.

    A type that JSON Schema does not know is named in the description, as is a name that had to be replaced
    (see `argument_names`). The first of two parameters of one name counts.
    """
    first = {parameter.name: parameter for parameter in reversed(parameters)}
    names = argument_names(parameters)
    more = inputs or {}
    known = as_object(more.get("properties"))
    schema: JsonObject = {
        "type": "object",
        "properties": {
            shown: _property(first[name], shown, known.get(name)) for shown, name in names.items()
        },
    }
    required = [shown for shown, name in names.items() if first[name].required]
    more = {key: more[key] for key in ("description", "additionalProperties", "$defs") if key in more}
    return schema | ({"required": required} if required else {}) | more


def argument_names(parameters: tuple[Parameter, ...]) -> dict[str, str]:
    """Name of each parameter for a model → its name in the API.

    The two differ where providers would refuse the whole request for the name, as for `filter[id]`.
    """
    wanted = dict.fromkeys(parameter.name for parameter in parameters)
    shown = {name: name for name in wanted if _ACCEPTED.fullmatch(name)}
    used: Counter[str] = Counter()
    for name in wanted:
        if name in shown:
            continue
        readable = candidate = slug(name)[: MAX_NAME - 8] or "parameter"
        while candidate in shown:
            used[readable] += 1
            candidate = f"{readable}_{used[readable] + 1}"
        shown[candidate] = name
    return shown


def sent_arguments(document: ApiDocument, given: Mapping[str, Any]) -> JsonObject:
    """Arguments under the API's own names: renamed if the model was shown other names."""
    if schema_of(native_definition(document)) is not None:
        return dict(given)
    names = argument_names(document.parameters)
    return {names.get(name, name): value for name, value in given.items()}


def _property(parameter: Parameter, shown: str, known: object = None) -> JsonObject:
    if known is False:
        return {"not": {}}
    name, _, items = parameter.type.strip().lower().partition(" of ")
    kind = _TYPES.get(name)
    schema: JsonObject = {"type": kind} if kind else {}
    if kind == "array":
        schema["items"] = {"type": _TYPES[items]} if items in _TYPES else {}
    hints = [parameter.description]
    if isinstance(known, dict):
        schema = {key: value for key, value in known.items() if key != "description"}
    elif parameter.type and not kind:
        hints.append(f"({parameter.type})")
    hints += [f"(sent as {parameter.name!r})"] if shown != parameter.name else []
    description = " ".join(hint for hint in hints if hint)
    return schema | ({"description": description} if description else {})


DefinitionFormat = Literal["openai", "responses", "anthropic", "gemini", "mcp"]

_MAX_OPENAI_DESCRIPTION = 1_024
"""OpenAI refuses a whole request for one longer description."""


def render_definitions(
    documents: Sequence[ApiDocument],
    format: DefinitionFormat,  # noqa: A002
) -> list[dict[str, Any]]:
    """A definition for each document, in their order.

    The formats are OpenAI's for chat completions and for Responses, Anthropic's, Gemini's declaration of a
    function, and that of MCP.

    Names come from `function_names`, so that `documents_by_name` leads from a model's call to the document.
    The schema of a function or an MCP tool is returned as it was published; other APIs get one drawn up from
    their parameters. OpenAI's `strict` and the annotations and output schema of an MCP tool are kept.

    Raises:
        ValueError: there is no such format.
    """
    if (render := _RENDERERS.get(format)) is None:
        raise ValueError(f"no format {format!r} of definitions: give one of {', '.join(_RENDERERS)}")
    return [
        render(name, document) for name, document in zip(function_names(documents), documents, strict=True)
    ]


def _named(name: str, document: ApiDocument, most: int | None = None) -> JsonObject:
    """Name and description, which is left out where it is empty."""
    return {"name": name} | ({"description": text} if (text := document.description[:most]) else {})


def _openai(name: str, document: ApiDocument) -> JsonObject:
    function = _named(name, document, _MAX_OPENAI_DESCRIPTION) | {"parameters": input_schema(document)}
    if isinstance(strict := native_definition(document).get("strict"), bool):
        function["strict"] = strict
    return {"type": "function", "function": function}


def _responses(name: str, document: ApiDocument) -> JsonObject:
    """The flat form of Responses. `strict` is always present, because OpenAI's default is true."""
    return {"type": "function", "strict": False, **_openai(name, document)["function"]}


def _anthropic(name: str, document: ApiDocument) -> JsonObject:
    return _named(name, document) | {"input_schema": input_schema(document)}


def _gemini(name: str, document: ApiDocument) -> JsonObject:
    return _named(name, document) | {"parametersJsonSchema": input_schema(document)}


def _mcp(name: str, document: ApiDocument) -> JsonObject:
    native = native_definition(document)
    tool = _named(name, document) | {"inputSchema": input_schema(document)}
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
    "gemini": _gemini,
    "mcp": _mcp,
}


MAX_DESCRIPTION = 200
"""Characters of what the API does: its first sentence, where that is shorter."""
MAX_FIELD = 80
"""Characters of what is said about one input."""

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_COMMENTARY = frozenset({"title", "example", "examples", "$comment", "externalDocs", "xml", "$schema"})
"""Keywords that neither allow nor forbid a value and that a call does not need."""
_ONE, _MANY, _NAMED = ONE | {"additionalItems"}, MANY | {"items"}, NAMED | {"$defs", "definitions"}


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
