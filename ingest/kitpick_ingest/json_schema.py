"""The inputs that a JSON Schema describes, reduced to what retrieval needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from kitpick_engines.document import Parameter
from kitpick_ingest.chains import MAX_FIELDS, Field, Shape, answer_fields
from kitpick_ingest.json_values import (
    JsonObject,
    as_list,
    as_object,
    as_string,
    segments,
)
from kitpick_ingest.prose import MAX_PARAMETER_DESCRIPTION, clip
from kitpick_ingest.references import References, unresolved

MAX_PARAMETERS = 10_000
"""Inputs of one schema."""
_MAX_ALTERNATIVES = 8
_MAX_MEMBERS = 32
"""Members of `allOf`, `anyOf` and `oneOf` of an answer that are looked into, however they hang together."""
_MAX_JOINED = 100
"""Alternatives of one input that are joined; of more only the description is left."""
_COMBINATORS = ("allOf", "anyOf", "oneOf")


def parameters(schema: object, references: References | None = None) -> tuple[Parameter, ...]:
    """Top-level properties of an object schema, those of its `allOf`, `anyOf` and `oneOf` members included.

    Of two properties of one name the first that always holds is kept; alternatives are joined. None that only
    the server sets (`readOnly`) comes out. Only `allOf` members make a property required, as the others are
    alternatives; what is required and described nowhere comes out as well. At most 10,000 come out: the full
    schema is in the definition.

    Args:
        schema: the schema; anything that is not an object has no parameters.
        references: resolves `$ref`s; by default those within `schema`.
    """
    references = references or References(schema)
    found, required = _inputs(schema, references)
    return tuple(
        parameter(name, value, name in required, references)
        for name, value in found.items()
        if value.get("readOnly") is not True
    )


def property_schemas(schema: object, references: References) -> dict[str, JsonObject]:
    """The schema of each of the `parameters`."""
    return _inputs(schema, references)[0]


def _inputs(schema: object, references: References) -> tuple[dict[str, JsonObject], dict[str, JsonObject]]:
    """Schemas of the inputs by name, and of required ones what is said of inputs without a schema."""
    found: dict[str, list[JsonObject]] = {}
    always: set[str] = set()
    required: dict[str, JsonObject] = {}
    is_object = False
    for part, binding in _object_schemas(schema, references):
        is_object = is_object or "properties" in part or part.get("type") == "object"
        for name in as_list(part.get("required")) if binding else ():
            if isinstance(name, str):
                required.setdefault(name, _of_others(part))
        for name, value in as_object(part.get("properties")).items():
            if name in always or (name not in found and len(found) >= MAX_PARAMETERS):
                continue
            if binding:
                always.add(name)
                found[name] = []
            found.setdefault(name, []).append(as_object(value))
    for name, value in required.items():
        if is_object and len(found) < MAX_PARAMETERS:
            found.setdefault(name, [value])
    return {name: _any_of(values) for name, values in found.items()}, required


def _any_of(values: list[JsonObject]) -> JsonObject:
    """The schema of an input that several alternatives have: whatever one of them allows."""
    usable = [value for value in values if value.get("readOnly") is not True] or values[:1]
    different: list[JsonObject] = _each_once(usable[:_MAX_JOINED])
    if len(different) == 1 and len(usable) <= _MAX_JOINED:
        return different[0]
    text = as_string(usable[0].get("description"))
    joined = {"description": text} if text else {}
    if len(usable) > _MAX_JOINED:
        return joined
    allowed = [_allowed(value) for value in different]
    if not all(allowed):
        return joined | {"anyOf": different}
    kinds = _each_once(value.get("type") for value in different)
    kind = {"type": kinds[0]} if len(kinds) == 1 and kinds[0] else {}
    return joined | kind | {"enum": _each_once(one for some in allowed for one in some)}


def _allowed(schema: JsonObject) -> list[Any]:
    """The only values that a schema allows, none where it names no values."""
    values: list[Any] = as_list(schema.get("enum"))
    return [schema["const"]] if "const" in schema else values


def _each_once(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _of_others(part: JsonObject) -> JsonObject:
    """The schema of what an object holds beyond its properties."""
    others = part.get("additionalProperties")
    return {"not": {}} if others is False else as_object(others)


def parameter(name: str, schema: JsonObject, required: bool, references: References) -> Parameter:
    """One input with the type and description that its schema gives."""
    target = references.resolve(schema)
    description = as_string(schema.get("description")) or as_string(target.get("description"))
    if not description and unresolved(target):
        description = f"unresolved reference {unresolved(target)}"
    text = clip(description, MAX_PARAMETER_DESCRIPTION)
    return Parameter(name, type_name(target, references), required, text)


def told_apart(placed: Iterable[tuple[str, Parameter]]) -> tuple[Parameter, ...]:
    """Parameters of different places: of equal names all but the first are called after their place, too.

    Args:
        placed: each parameter with its place: `path`, `query`, `header`, `body`, ….
    """
    found: dict[str, Parameter] = {}
    for place, each in placed:
        name, number = each.name, 1
        while name in found:
            name = f"{each.name}_in_{place}" + (f"_{number}" if number > 1 else "")
            number += 1
        if name != each.name:
            sent = f"(sent as {each.name!r} in the {place})"
            room = MAX_PARAMETER_DESCRIPTION - len(sent) - 1
            text = f"{clip(each.description, room)} {sent}".strip()
            found[name] = msgspec.structs.replace(each, name=name, description=text)
        else:
            found[name] = each
    return tuple(found.values())


def property_names(schema: object, references: References) -> tuple[str, ...]:
    """Names of the top-level properties of an object, or of the objects that an array holds."""
    target = references.resolve(as_object(schema))
    items = target.get("items")
    parts = _object_schemas(items if isinstance(items, dict) else target, references)
    return tuple(dict.fromkeys(name for part, _ in parts for name in as_object(part.get("properties"))))


def schema_fields(schema: object, references: References | None = None) -> Iterator[Field]:
    """Identifiers in what a schema describes, see `answer_fields`."""
    references = references or References(schema)
    return answer_fields(as_object(schema), lambda node: _shape(node, references))


def _shape(schema: JsonObject, references: References) -> Shape[JsonObject]:
    """The shape of a value, or of the members of a list."""
    name = ""
    for _ in range(_MAX_ALTERNATIVES):
        name = (segments(unresolved(schema)) or (name,))[-1]
        target = references.resolve(schema)
        if not isinstance(items := target.get("items"), dict):
            break
        schema = items
    fields: dict[str, JsonObject] = {}
    for part, _ in islice(_object_schemas(target, references), _MAX_MEMBERS):
        for field, value in as_object(part.get("properties")).items():
            if isinstance(value, dict) and len(fields) < MAX_FIELDS:
                fields.setdefault(field, value)
    return Shape(name, list(fields.items()), id(target))


def type_name(schema: JsonObject, references: References) -> str:
    """The type as a short text: `string`, `string|null`, `array of integer`, `enum`; empty where unknown."""
    declared = schema.get("type")
    if isinstance(declared, list):
        return "|".join(str(item).lower() for item in declared[:_MAX_ALTERNATIVES])
    if isinstance(declared, str):
        items = _member_type(schema.get("items"), references) if declared.lower() == "array" else ""
        return f"array of {items}" if items else declared.lower()
    return _undeclared_type(schema, references)


def _undeclared_type(schema: JsonObject, references: References) -> str:
    for key in _COMBINATORS:
        members = as_list(schema.get(key))[:_MAX_ALTERNATIVES]
        names = dict.fromkeys(_member_type(member, references) for member in members)
        if joined := "|".join(name for name in names if name):
            return joined
    if isinstance(schema.get("properties"), dict):
        return "object"
    return "enum" if "enum" in schema or "const" in schema else ""


def _member_type(member: object, references: References) -> str:
    """Type of an array's item or of an alternative, without looking into it any further."""
    target = references.resolve(as_object(member))
    declared = target.get("type")
    if isinstance(declared, str):
        return declared.lower()
    return "object" if isinstance(target.get("properties"), dict) else ""


def _object_schemas(schema: object, references: References) -> Iterator[tuple[JsonObject, bool]]:
    """A schema and its combined members, each once and with whether its `required` binds."""
    pending = [(schema, True)]
    seen: set[int] = set()
    while pending:
        value, binding = pending.pop()
        target = references.resolve(as_object(value))
        for part in (as_object(value), target) if _has_siblings(value) else (target,):
            if not part or id(part) in seen:
                continue
            seen.add(id(part))
            yield part, binding
            for key in reversed(_COMBINATORS):
                members = reversed(as_list(part.get(key)))
                pending += [(member, binding and key == "allOf") for member in members]


def _has_siblings(value: object) -> bool:
    """Whether a schema has a reference and, beside it, inputs of its own."""
    own = as_object(value)
    return bool(unresolved(own)) and not own.keys().isdisjoint(("properties", *_COMBINATORS))
