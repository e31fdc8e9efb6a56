"""The forms in which functions are declared, and the JSON Schema of their inputs in each.

OpenAI, Anthropic, Gemini, MCP, Amazon Bedrock (`toolSpec`), Cohere (`parameter_definitions`) and ml-commons
(`attributes`); a schema may also be given as JSON text.
"""

from __future__ import annotations

import re

import msgspec

from kitpick_ingest.json_values import JsonObject, as_object, as_string

_SCHEMAS = ("inputSchema", "input_schema", "parametersJsonSchema", "parameters")
_WRAPPERS = ("function", "toolSpec")
_COHERE = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
_LIST = re.compile(r"(?:list|array|tuple|set)(?:\[(\w+).*\])?", re.IGNORECASE)


def inner_function(definition: JsonObject) -> JsonObject:
    """The function itself, without what some providers put around it."""
    return next((inner for key in _WRAPPERS if (inner := as_object(definition.get(key)))), definition)


def is_registered(function: JsonObject) -> bool:
    """Whether it is a tool as ml-commons lists those that are registered there."""
    return "type" in function and bool({"attributes", "create_time"} & function.keys())


def schema_of(function: JsonObject) -> JsonObject | None:
    """The schema of a function's inputs: an empty one where it takes none, None where it is no function."""
    if is_registered(function):  # its `parameters` are values that were set when it was registered
        return _schema(as_object(function.get("attributes")).get("input_schema"))
    for key in _SCHEMAS:
        if (schema := _schema(function.get(key))) is not None:
            return schema
    if isinstance(definitions := function.get("parameter_definitions"), dict):
        return _of_definitions(definitions)
    return {"type": "object", "properties": {}} if function.get("type") == "function" else None


def _schema(value: object) -> JsonObject | None:
    """A schema that is given as itself, as JSON text, or under Bedrock's key `json`."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, RecursionError):
            return None
    if not isinstance(value, dict):
        return None
    inner = value.get("json")
    return inner if isinstance(inner, dict) and value.keys() == {"json"} else value


def _of_definitions(definitions: JsonObject) -> JsonObject:
    """Cohere's parameters: a Python type, a description and whether it is required, for each name."""
    properties = {name: _of_definition(as_object(each)) for name, each in definitions.items()}
    required = [name for name, each in definitions.items() if as_object(each).get("required") is True]
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _of_definition(definition: JsonObject) -> JsonObject:
    kind = as_string(definition.get("type"))
    schema: JsonObject = {}
    if found := _LIST.fullmatch(kind):
        items = _COHERE.get((found[1] or "").lower())
        schema = {"type": "array", "items": {"type": items} if items else {}}
    elif known := _COHERE.get(kind.lower()) or (kind if kind in _COHERE.values() else ""):
        schema = {"type": known}
    description = as_string(definition.get("description"))
    return schema | ({"description": description} if description else {})
