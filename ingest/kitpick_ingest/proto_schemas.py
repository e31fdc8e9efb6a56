"""Messages of Protocol Buffers as JSON Schema, in the form that their JSON has (`proto3` JSON mapping).

Messages may refer to each other in cycles: each is a part of its own, written once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from kitpick_ingest.descriptor_sets import DescriptorSet, ProtoElement
from kitpick_ingest.input_schemas import TOO_LARGE, InputSchemas
from kitpick_ingest.json_files import UNREADABLE
from kitpick_ingest.json_values import JsonObject, as_list, as_object, as_string

MAX_MESSAGE_FIELDS = 2_000
"""A message with more fields, or an enum with more values, is given without them."""

_FIELDS, _ENUM_VALUES = 2, 2
"""Numbers of fields in `descriptor.proto`, by which comments name a place."""
_SCALARS: Mapping[str, JsonObject] = {
    "TYPE_BOOL": {"type": "boolean"},
    "TYPE_STRING": {"type": "string"},
    "TYPE_BYTES": {"type": "string", "contentEncoding": "base64"},
    "TYPE_DOUBLE": {"type": "number"},
    "TYPE_FLOAT": {"type": "number"},
    **{
        f"TYPE_{kind}{bits}": {"type": "integer", "format": f"int{bits}"}
        for kind in ("INT", "SINT", "SFIXED")
        for bits in (32, 64)
    },
    **{
        f"TYPE_{kind}{bits}": {"type": "integer", "format": f"uint{bits}", "minimum": 0}
        for kind in ("UINT", "FIXED")
        for bits in (32, 64)
    },
}
_WRAPPED = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
WELL_KNOWN: Mapping[str, JsonObject] = {
    **{f".google.protobuf.{name}Value": _SCALARS[f"TYPE_{name.upper()}"] for name in _WRAPPED},
    ".google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    ".google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
    ".google.protobuf.FieldMask": {"type": "string", "description": "Names of fields with commas between."},
    ".google.protobuf.Struct": {"type": "object"},
    ".google.protobuf.Value": {},
    ".google.protobuf.ListValue": {"type": "array", "items": {}},
    ".google.protobuf.NullValue": {"type": "null"},
    ".google.protobuf.Empty": {"type": "object", "additionalProperties": False},
    ".google.protobuf.Any": {
        "type": "object",
        "properties": {"@type": {"type": "string", "description": "URL of the message's type."}},
        "required": ["@type"],
    },
}
"""Messages and enums whose JSON is something of its own."""


class ProtoSchemas:
    """Schemas of the types of a descriptor set."""

    def __init__(self, types: DescriptorSet) -> None:
        self._types = types
        self._made = cache(self._schema_named)
        self.inputs = InputSchemas(self.part)
        """Writes schemas of messages, their parts included."""

    def part(self, name: str) -> JsonObject | None:
        """The schema of a message or an enum, None for one that the set does not hold."""
        return self._made(name.removeprefix("."))

    def _schema_named(self, name: str) -> JsonObject | None:
        found = self._types.find(name)
        return None if found is None else self._schema(found)

    def _schema(self, type_: ProtoElement) -> JsonObject:
        known = type_.json
        if "value" in known:
            return _enum(type_, known)
        said = {"description": comment} if (comment := type_.comment()) else {}
        if len(as_list(known.get("field"))) > MAX_MESSAGE_FIELDS:
            return {"type": "object", "description": TOO_LARGE}
        fields = [field for field in map(as_object, as_list(known.get("field"))) if _name(field)]
        required = [_name(field) for field in fields if _is_required(field)]
        schema: JsonObject = {"type": "object", **said, "properties": dict(self._fields(type_, known))}
        return schema | ({"required": required} if required else {}) | _alternatives(_groups(known))

    def _fields(self, type_: ProtoElement, message: JsonObject) -> Iterator[tuple[str, JsonObject]]:
        """The name and the schema of each field."""
        together = {name: names for names in _groups(message) for name in names}
        for index, given in enumerate(map(as_object, as_list(message.get("field")))):
            if name := _name(given):
                schema = self._field(given)
                notes = [type_.comment(_FIELDS, index) or as_string(schema.get("description"))]
                if name in together:
                    notes.append(f"(at most one of {', '.join(together[name])})")
                described = " ".join(filter(None, notes))
                yield name, schema | ({"description": described} if described else {})

    def _field(self, field: JsonObject) -> JsonObject:
        value, label = self._value(field), as_string(field.get("label"))
        entry = self._entry(field)
        if entry is not None:
            value = {"type": "object", "additionalProperties": self._value(_member(entry, 2))}
        elif label == "LABEL_REPEATED":
            value = {"type": "array", "items": value}
        options = as_object(field.get("options"))
        flags = {
            "readOnly": "OUTPUT_ONLY" in _behavior(field),
            "deprecated": options.get("deprecated") is True,
        }
        return {**value, **_default(field), **{flag: True for flag, set_ in flags.items() if set_}}

    def _value(self, field: JsonObject) -> JsonObject:
        """The schema of one value of a field."""
        kind, name = as_string(field.get("type")), as_string(field.get("typeName"))
        if not name:
            return dict(_SCALARS.get(kind, {}))
        return dict(WELL_KNOWN[name]) if name in WELL_KNOWN else {"$ref": name.removeprefix(".")}

    def _entry(self, field: JsonObject) -> JsonObject | None:
        """The message of an entry, where the field is a map."""
        if field.get("label") != "LABEL_REPEATED" or field.get("type") != "TYPE_MESSAGE":
            return None
        found = self._types.find(as_string(field.get("typeName")))
        if found is None or not found.is_entry:
            return None
        return found.json


def _name(field: JsonObject) -> str:
    return as_string(field.get("name"))


def _behavior(field: JsonObject) -> list[object]:
    """What `google.api.field_behavior` says of a field."""
    return as_list(as_object(field.get("options")).get("[google.api.field_behavior]"))


def _is_required(field: JsonObject) -> bool:
    return field.get("label") == "LABEL_REQUIRED" or "REQUIRED" in _behavior(field)


def _member(message: JsonObject, number: int) -> JsonObject:
    fields = map(as_object, as_list(message.get("field")))
    return next((field for field in fields if field.get("number") == number), {})


def _default(field: JsonObject) -> JsonObject:
    """The default value, which descriptors hold as text."""
    text = field.get("defaultValue")
    if not isinstance(text, str):
        return {}
    if field.get("type") in ("TYPE_STRING", "TYPE_ENUM"):
        return {"default": text}
    try:
        return {"default": msgspec.json.decode(text)}
    except UNREADABLE:  # an infinity, or bytes
        return {}


def _enum(type_: ProtoElement, known: JsonObject) -> JsonObject:
    """The names of its values; what is said of each stands in the description."""
    names = [_name(as_object(value)) for value in as_list(known["value"])]
    if len(names) > MAX_MESSAGE_FIELDS:
        return {"type": "string", "description": TOO_LARGE}
    said = ((name, type_.comment(_ENUM_VALUES, index)) for index, name in enumerate(names))
    values = [f"{name}: {comment}" for name, comment in said if comment]
    description = " ".join(filter(None, [type_.comment(), *values]))
    return {"type": "string", "enum": names} | ({"description": description} if description else {})


def _groups(message: JsonObject) -> list[list[str]]:
    """Names of the fields of each `oneof` that has several."""
    groups: defaultdict[int, list[str]] = defaultdict(list)
    for field in map(as_object, as_list(message.get("field"))):
        place = field.get("oneofIndex")
        if isinstance(place, int) and field.get("proto3Optional") is not True:
            groups[place].append(_name(field))
    return [names for names in groups.values() if len(names) > 1]


def _alternatives(groups: list[list[str]]) -> JsonObject:
    """Of each group none or one is given."""
    rules = []
    for names in groups:
        given: list[JsonObject] = [{"required": [name]} for name in names]
        rules.append({"oneOf": [*given, {"not": {"anyOf": given}}]})
    return rules[0] if len(rules) == 1 else {"allOf": rules} if rules else {}
