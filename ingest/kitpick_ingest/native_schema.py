"""The JSON Schema of an API's inputs: as published, or built from the list of parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_ingest.function_names import MAX_NAME, slug
from kitpick_ingest.json_files import UNREADABLE
from kitpick_ingest.json_values import JsonObject, as_object

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


def native_definition(document: ApiDocument) -> JsonObject:
    """The definition if it is a function that takes one JSON object, else an empty object.

    Those are MCP tools (`inputSchema`) and functions in the forms of OpenAI, Anthropic and Gemini; of an
    OpenAI chat function the inner object.
    """
    try:
        definition = as_object(msgspec.json.decode(document.definition)) if document.definition else {}
    except UNREADABLE:
        return {}
    inner = as_object(definition.get("function")) or definition
    return inner if inner.get("name") == document.api and _schema_of(inner) is not None else {}


def input_schema(document: ApiDocument) -> JsonObject:
    """JSON Schema of an object that holds the inputs.

    A native schema comes back as it was written, with `type: object` where it says no type; types of Gemini
    (`STRING`) are written as JSON Schema writes them.
    """
    schema = _schema_of(native_definition(document))
    if schema is None:
        return listed_schema(document.parameters)
    if _is_gemini(schema):
        schema = _lower_types(schema, _MAX_DEPTH)
    return schema if "type" in schema else {"type": "object", **schema}


def listed_schema(parameters: tuple[Parameter, ...]) -> JsonObject:
    """A schema made from names, types, descriptions and required parameters.

    A type that JSON Schema does not know is named in the description, as is a name that had to be replaced
    (see `argument_names`). The first of two parameters of one name counts.
    """
    first = {parameter.name: parameter for parameter in reversed(parameters)}
    names = argument_names(parameters)
    schema: JsonObject = {
        "type": "object",
        "properties": {shown: _property(first[name], shown) for shown, name in names.items()},
    }
    required = [shown for shown, name in names.items() if first[name].required]
    return schema | ({"required": required} if required else {})


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
    if _schema_of(native_definition(document)) is not None:
        return dict(given)
    names = argument_names(document.parameters)
    return {names.get(name, name): value for name, value in given.items()}


def _property(parameter: Parameter, shown: str) -> JsonObject:
    name, _, items = parameter.type.strip().lower().partition(" of ")
    kind = _TYPES.get(name)
    schema: JsonObject = {"type": kind} if kind else {}
    if kind == "array":
        schema["items"] = {"type": _TYPES[items]} if items in _TYPES else {}
    hints = [parameter.description]
    hints += [f"({parameter.type})"] if parameter.type and not kind else []
    hints += [f"(sent as {parameter.name!r})"] if shown != parameter.name else []
    description = " ".join(hint for hint in hints if hint)
    return schema | ({"description": description} if description else {})


def _schema_of(function: JsonObject) -> JsonObject | None:
    """The inputs of a native function: an empty schema where it takes none, None where it is no function."""
    for key in ("inputSchema", "input_schema", "parametersJsonSchema", "parameters"):
        if isinstance(schema := function.get(key), dict):
            return schema
    return {"type": "object", "properties": {}} if function.get("type") == "function" else None


def _is_gemini(schema: JsonObject) -> bool:
    return str(schema.get("type", "")).isupper()


def _lower_types(value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON value
    if depth == 0:
        return value
    if isinstance(value, list):
        return [_lower_types(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item.lower() if key == "type" and isinstance(item, str) else _lower_types(item, depth - 1)
        for key, item in value.items()
    }
