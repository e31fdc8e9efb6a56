"""The inputs that a JSON Schema describes, reduced to what retrieval needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from toolrank_engines.document import Parameter

_MAX_PARAMETERS = 10_000
_MAX_DEPTH = 16
"""Nested `$ref` and `allOf` are followed this deep; a loop ends here."""
_COMBINATORS = ("allOf", "anyOf", "oneOf")


def parameters(schema: object) -> tuple[Parameter, ...]:
    """Top-level properties of an object schema, those of its `allOf`, `anyOf` and `oneOf` members included.

    The first of two properties of one name is kept. At most 10,000 come out: the full schema is in the
    definition. Only `allOf` members make a property required, as the others are alternatives.
    """
    found: dict[str, Parameter] = {}
    for part, binding in _object_schemas(schema, schema, True, _MAX_DEPTH):
        required = part.get("required")
        names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        properties = part.get("properties")
        for name, value in properties.items() if isinstance(properties, dict) else ():
            if len(found) < _MAX_PARAMETERS and name not in found:
                found[name] = _parameter(name, value, schema, binding and name in names)
    return tuple(found.values())


def type_name(schema: object) -> str:
    """The type as a short text: `string`, `string|null`, `array of integer`, `enum`; empty where unknown."""
    if not isinstance(schema, dict):
        return ""
    declared = schema.get("type")
    if isinstance(declared, list):
        return "|".join(str(item).lower() for item in declared[:8])
    if isinstance(declared, str):
        items = type_name(schema.get("items")) if declared.lower() == "array" else ""
        return f"array of {items}" if items else declared.lower()
    return _undeclared_type(schema)


def _undeclared_type(schema: dict[str, Any]) -> str:
    for key in ("anyOf", "oneOf"):
        if isinstance(members := schema.get(key), list):
            names = dict.fromkeys(_plain_type(member) for member in members[:8])
            return "|".join(name for name in names if name)
    if isinstance(schema.get("properties"), dict):
        return "object"
    return "enum" if "enum" in schema or "const" in schema else ""


def _plain_type(schema: object) -> str:
    declared = schema.get("type") if isinstance(schema, dict) else None
    return declared.lower() if isinstance(declared, str) else ""


def _parameter(name: str, value: object, root: object, required: bool) -> Parameter:
    schema = value if isinstance(value, dict) else {}
    target = resolve(schema, root)
    description = schema.get("description") or target.get("description")
    return Parameter(
        name=name,
        type=type_name(target),
        required=required,
        description=description if isinstance(description, str) else "",
    )


def _object_schemas(
    schema: object, root: object, binding: bool, depth: int
) -> Iterator[tuple[dict[str, Any], bool]]:
    """A schema and its combined members, each with whether its `required` binds."""
    if not isinstance(schema, dict) or depth == 0:
        return
    target = resolve(schema, root)
    yield target, binding
    for key in _COMBINATORS:
        members = target.get(key)
        for member in members[:100] if isinstance(members, list) else ():
            yield from _object_schemas(member, root, binding and key == "allOf", depth // 2)


def resolve(schema: dict[str, Any], root: object) -> dict[str, Any]:
    """The schema that local `$ref`s lead to; a reference that leads nowhere or in a circle stays."""
    for _ in range(_MAX_DEPTH):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        target = _lookup(root, reference)
        if not isinstance(target, dict):
            return schema
        schema = target
    return schema


def _lookup(root: object, reference: str) -> object:
    """Value at a JSON pointer in URI fragment form (RFC 6901 §6)."""
    value = root
    for part in unquote(reference[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value.get(key) if isinstance(value, dict) else None
    return value
