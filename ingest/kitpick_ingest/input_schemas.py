"""Schemas of inputs, built from a whole description so that they need nothing else of it: for right calls.

Allowed values, defaults, formats, bounds and the fields of nested objects stay. References become those of
the schema's own `$defs`. What providers would refuse, as it is no JSON Schema (2020-12), is written as one
or left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec

from kitpick_engines.document import Parameter
from kitpick_ingest.json_schema import MAX_PARAMETERS
from kitpick_ingest.json_values import JsonObject, as_list, as_object, as_string, segments
from kitpick_ingest.prose import clip
from kitpick_ingest.references import Target, followed, unresolved

MAX_INPUTS = 32_000
"""Most characters of the schemas of one API. A larger one loses its inner parts, and says so."""
TOO_LARGE = "The fields are left out here for their size: see the published definition."
COMBINED = "Not every combination of these inputs is allowed: see the published definition."

_MAX_DEPTH = 32
_MAX_DESCRIPTION = 300
_MAX_EXAMPLE = 200
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
ONE = frozenset(
    {"additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "items"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords that hold schemas: by name, in a list, and one."""
_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"minContains", "maxContains"}
)
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_TEXTS = frozenset({"format", "pattern", "contentEncoding", "contentMediaType"})
_FLAGS = frozenset({"uniqueItems", "readOnly", "writeOnly", "deprecated"})
_PLAIN_KEYS = frozenset({"type", "description"})
_GROUPED = ("anyOf", "oneOf", "not", "if", "dependentRequired", "dependentSchemas", "minProperties")
_GROUPED_TOO = ("maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties")


class InputSchemas:
    """Writes the schemas of the inputs of one description. Each shared part is written once.

    Args:
        target: follows one reference.
        siblings: whether what stands beside a `$ref` counts, as in JSON Schema since 2019.
    """

    def __init__(self, target: Target, *, siblings: bool = True) -> None:
        self._target = target
        self._siblings = siblings
        self._names: dict[int, str] = {}
        self._targets: dict[str, JsonObject] = {}
        self._part = cache(self._written_part)

    def text(self, inputs: Iterable[tuple[Parameter, object]], whole: object = None) -> str:
        """The schemas as JSON text: `properties` by the names of their parameters, and `$defs`.

        Inputs of which type and description say all are left out; the text is empty where none is left.

        Args:
            inputs: each parameter with its schema.
            whole: the schema of the object that holds them, where there is one.
        """
        found: JsonObject = {}
        properties, used = {}, set[str]()
        for parameter, schema in inputs:
            written, parts = self._written(schema)
            if not self._plain(written):
                properties[parameter.name] = written
                used.update(parts)
        if properties:
            found["properties"] = properties
        if (more := self._more(whole, used)) is not None:
            found["additionalProperties"] = more
        if defs := self._closure(used, MAX_INPUTS - len(msgspec.json.encode(found))):
            found["$defs"] = defs
        if self._is_grouped(whole):
            found["description"] = COMBINED
        if len(as_object(self.resolved(whole).get("properties"))) > MAX_PARAMETERS:
            found = {key: value for key, value in found.items() if key != "additionalProperties"}
            found["description"] = TOO_LARGE
        text = msgspec.json.encode(found).decode() if found else ""
        return text if len(text) <= MAX_INPUTS else msgspec.json.encode({"description": TOO_LARGE}).decode()

    def whole(self, schema: object) -> JsonObject:
        """One schema that stands alone."""
        written, parts = self._written(schema)
        defs = self._closure(set(parts), MAX_INPUTS)
        return as_object(written) | ({"$defs": defs} if defs else {})

    def _written(self, schema: object) -> tuple[Any, tuple[str, ...]]:
        """A schema that stands alone but for the parts that it names."""
        parts: dict[str, None] = {}
        return self._write(schema, _MAX_DEPTH, parts), tuple(parts)

    def _plain(self, schema: object) -> bool:
        """Whether a type and a description say all that the schema does."""
        if not isinstance(schema, dict):
            return schema is not False
        kind, items = schema.get("type"), schema.get("items", {})
        simple = isinstance(kind, str) or kind is None
        inner = (
            isinstance(items, dict) and items.keys() <= {"type"} and isinstance(items.get("type", ""), str)
        )
        return schema.keys() <= _PLAIN_KEYS | {"items"} and simple and inner

    def _more(self, whole: object, used: set[str]) -> Any:  # noqa: ANN401 - a schema or a boolean
        """What the object says of further fields, None where it says nothing."""
        schema = self.resolved(whole)
        if not isinstance(more := schema.get("additionalProperties"), (bool, dict)) or more is True:
            return None
        written, parts = self._written(more)
        used.update(parts)
        return written

    def _is_grouped(self, whole: object, depth: int = _MAX_DEPTH) -> bool:
        """Whether an object says more of its fields together than `allOf` does, which is written out."""
        schema = self.resolved(whole)
        if depth and any(schema.get(key) for key in (*_GROUPED, *_GROUPED_TOO)):
            return True
        return depth > 0 and any(self._is_grouped(each, depth - 1) for each in as_list(schema.get("allOf")))

    def resolved(self, schema: object) -> JsonObject:
        """The schema at the end of a chain of references."""
        return followed(as_object(schema), self._target)

    def _closure(self, used: set[str], room: int) -> JsonObject:
        """The parts that are named, and those that these name: the nearest first, while there is room."""
        defs: JsonObject = {}
        pending = sorted(used)
        for name in pending:  # grows
            if name in defs:
                continue
            part, further, size = self._part(name)
            room -= size
            defs[name] = part if room > 0 else {"description": TOO_LARGE}
            pending += further if room > 0 else ()
        return defs

    def _written_part(self, name: str) -> tuple[JsonObject, tuple[str, ...], int]:
        """A shared part, the parts that it names, and its size."""
        written, further = self._written(self._targets[name])
        part = as_object(written)
        return part, further, len(msgspec.json.encode(part)) + len(name)

    def _name(self, target: JsonObject, reference: str) -> str:
        """The name of a shared part."""
        if id(target) not in self._names:
            wanted = (segments(reference) or (reference,))[-1] or "part"
            base = name = "".join(c if c.isalnum() and c.isascii() else "_" for c in wanted)[:60]
            number = 1
            while name in self._targets:
                number += 1
                name = f"{base}_{number}"
            self._names[id(target)] = name
            self._targets[name] = target
        return self._names[id(target)]

    def _write(self, schema: object, depth: int, parts: dict[str, None]) -> Any:  # noqa: ANN401
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            return {}
        if depth == 0:
            return {"description": TOO_LARGE}
        if reference := unresolved(schema):
            return self._referred(schema, reference, depth, parts)
        found: JsonObject = {}
        for key, value in schema.items():
            self._keyword(found, key, value, depth - 1, parts)
        _finish(found, schema)
        return found

    def _referred(self, schema: JsonObject, reference: str, depth: int, parts: dict[str, None]) -> JsonObject:
        """A part that is named, or one that is small written in its place."""
        target = self._target(reference)
        described = as_string(schema.get("description"))
        beside = (
            {k: v for k, v in schema.items() if k not in ("$ref", "$dynamicRef")} if self._siblings else {}
        )
        if target is None:
            written: JsonObject = {"description": f"unresolved reference {reference}"[:_MAX_DESCRIPTION]}
        elif _is_small(target):
            written = as_object(self._write(target, depth - 1, parts))
        else:
            name = self._name(target, reference)
            parts[name] = None
            written = {"$ref": f"#/$defs/{name}"}
        more = as_object(self._write(beside, depth - 1, parts)) if beside else {}
        if described:
            more["description"] = clip(described, _MAX_DESCRIPTION)
        if more.keys() - {"description"} and not more.keys().isdisjoint(written.keys() - {"description"}):
            return {"allOf": [written], **more}
        return {**written, **more}

    def _keyword(
        self,
        found: JsonObject,
        key: str,
        value: object,
        depth: int,
        parts: dict[str, None],
    ) -> None:
        if key in NAMED and isinstance(value, dict):
            found[key] = {name: self._write(each, depth, parts) for name, each in value.items()}
        elif key in MANY or (key == "items" and isinstance(value, list)):
            if members := [self._write(each, depth, parts) for each in as_list(value)]:
                found["prefixItems" if key == "items" else key] = members
        elif key in ONE | {"additionalItems"} and isinstance(value, (dict, bool)):
            found[key] = self._write(value, depth, parts)
        elif key == "description" and isinstance(value, str):
            found[key] = clip(value, _MAX_DESCRIPTION)
        elif (is_kept := _KEPT.get(key)) is not None and is_kept(value):
            found[key] = value
        elif key in _NUMBERS | _COUNTS and isinstance(value, str) and (number := _number(value)) is not None:
            found[key] = number


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_names(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


_KEPT: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(_NUMBERS, _is_number),
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(_TEXTS, lambda value: isinstance(value, str)),
    **dict.fromkeys(_FLAGS, lambda value: value is True),
    **dict.fromkeys(("const", "default", "type"), lambda _: True),
    "multipleOf": lambda value: _is_number(value) and float(str(value)) > 0,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "required": _are_names,
    "dependentRequired": lambda value: isinstance(value, dict) and all(map(_are_names, value.values())),
}
"""Keywords that stay as they are, for values of these forms."""


def _finish(found: JsonObject, schema: JsonObject) -> None:
    """Writes what depends on several keywords: types, bounds and lists as they were written before 2020."""
    _type(found, schema)
    _bounds(found, schema)
    _rest_of_list(found, schema)
    _required(found, schema)
    _example(found, schema)


def _bounds(found: JsonObject, schema: JsonObject) -> None:
    for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(bound) is True and limit in found:
            found[bound] = found.pop(limit)


def _rest_of_list(found: JsonObject, schema: JsonObject) -> None:
    rest = found.pop("additionalItems", None)
    if rest is not None and isinstance(schema.get("items"), list):
        found["items"] = rest


def _required(found: JsonObject, schema: JsonObject) -> None:
    """Requires the inputs that are named, or else flagged, but none that a caller cannot set."""
    properties = as_object(schema.get("properties"))
    required = found.pop("required", None)
    if required is None:
        required = [name for name, each in properties.items() if _flag(each, "required")]
    unset = {name for name, each in properties.items() if _flag(each, "readOnly")}
    if kept := [name for name in dict.fromkeys(required) if name not in unset]:
        found["required"] = kept


def _example(found: JsonObject, schema: JsonObject) -> None:
    example = schema.get("example")
    if "examples" in schema and isinstance(schema["examples"], list):
        example = next(iter(schema["examples"]), None)
    if example is not None and len(str(example)) <= _MAX_EXAMPLE:
        found["examples"] = [example]


def _flag(schema: object, key: str) -> bool:
    return as_object(schema).get(key) is True


def _type(found: JsonObject, schema: JsonObject) -> None:
    kind = schema.get("type")
    kinds = [each.lower() for each in (kind if isinstance(kind, list) else [kind]) if isinstance(each, str)]
    known = [each for each in dict.fromkeys(kinds) if each in _TYPES]
    if "file" in kinds:
        known, found["format"] = ["string"], found.get("format", "binary")
    found.pop("type", None)
    if known and schema.get("nullable") is True and "null" not in known:
        known.append("null")
    if schema.get("repeated") is True:  # Google's word for a list
        inner = {key: found.pop(key) for key in list(found) if key != "description"}
        found |= {"type": "array", "items": ({"type": known[0]} if known else {}) | inner}
    elif known:
        found["type"] = known[0] if len(known) == 1 else known


def _is_small(schema: JsonObject) -> bool:
    """Whether a part is simpler than its name: one value without parts of its own."""
    inner = ("properties", "items", *MANY, *NAMED, *ONE, "$ref", "$dynamicRef")
    return not any(key in schema for key in inner) and len(as_list(schema.get("enum"))) <= 12


def _number(text: str) -> int | float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
