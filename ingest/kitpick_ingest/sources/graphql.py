"""GraphQL: the fields of `Query`, `Mutation` and `Subscription` in the answer to an introspection query.

Types may refer to each other in cycles: of inputs each type is written once, answers are only named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from kitpick_engines.document import ApiDocument, Effect, Parameter, document_id
from kitpick_ingest.entries import BadEntry, Converted, FilesSource, as_text, convert_entry
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.input_schemas import InputSchemas
from kitpick_ingest.json_files import UNREADABLE, Entry, parse, read_file, within
from kitpick_ingest.json_values import JsonObject, as_list, as_object, as_string
from kitpick_ingest.repeated_keys import lost_values, repeated_keys

_SCALARS = {"Int": "integer", "Float": "number", "String": "string", "ID": "string", "Boolean": "boolean"}
_MAX_WRAPPERS = 20
_NAME = re.compile(r"[_A-Za-z]\w{0,199}")


class _Type(msgspec.Struct):
    name: str | None = None
    fields: list[msgspec.Raw] | None = None


class _Named(msgspec.Struct):
    name: str | None = None


class _Introspected(msgspec.Struct):
    types: list[_Type] = []
    query_type: _Named | None = msgspec.field(default=None, name="queryType")
    mutation_type: _Named | None = msgspec.field(default=None, name="mutationType")
    subscription_type: _Named | None = msgspec.field(default=None, name="subscriptionType")

    def roots(self) -> Iterator[tuple[str, Effect, list[msgspec.Raw]]]:
        """Each kind of operation with its effect and its fields."""
        fields = {each.name: each.fields or [] for each in self.types}
        for operation, effect, root in (
            ("query", Effect.READ, self.query_type),
            ("mutation", Effect.WRITE, self.mutation_type),
            ("subscription", Effect.READ, self.subscription_type),
        ):
            yield operation, effect, fields.get(root.name, []) if root is not None else []


class _Data(msgspec.Struct):
    schema: _Introspected | None = msgspec.field(default=None, name="__schema")


class _Answer(msgspec.Struct):
    data: _Data | None = None
    schema: _Introspected | None = msgspec.field(default=None, name="__schema")


class GraphqlSource(FilesSource):
    """Operations of an introspection answer, `{"data": {"__schema": …}}` or what it holds.

    Ids are `name/OPERATION/FIELD`.
    """

    usual_name = "graphql"
    suffixes = frozenset({".json"})

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        where = str(file.path)
        data = read_file(file.path)
        answer = parse(data, where, _Answer)
        schema = answer.schema or (answer.data.schema if answer.data is not None else None)
        if schema is None or not schema.types:
            raise SourceError(where, "is no answer to an introspection query: it has no `__schema.types`")
        yield from lost_values(self.name, where, repeated_keys(data))
        schemas = _input_types(_types(data))
        for operation, effect, fields in schema.roots():
            convert = _Operation(self.name, operation, effect, schemas).document
            for index, raw in enumerate(fields):
                yield convert_entry(self.name, Entry(within(where, operation, index), bytes(raw)), convert)


def _types(data: bytes) -> dict[str, JsonObject]:
    """The types of an answer that could be parsed, by their names."""
    given = as_object(msgspec.json.decode(data))
    schema = as_object(given.get("__schema") or as_object(given.get("data")).get("__schema"))
    return {as_string(each.get("name")): each for each in map(as_object, as_list(schema.get("types")))}


class _Operation:
    """Makes documents of the fields of one root type."""

    def __init__(self, source: str, operation: str, effect: Effect, schemas: InputSchemas) -> None:
        self._source, self._operation, self._effect, self._schemas = source, operation, effect, schemas

    def document(self, entry: Entry) -> ApiDocument:
        field = as_object(msgspec.json.decode(entry.raw))
        name = as_string(field.get("name"))
        if not name:
            raise BadEntry("a field without a name")
        inputs = _with_names(field.get("args"))
        parameters = tuple(map(_parameter, inputs))
        schemas = map(_input, inputs)
        deprecated = field.get("isDeprecated") is True
        return ApiDocument(
            id=document_id(self._source, self._operation, name),
            source=self._source,
            category="",
            tool=self._source,
            api=name,
            description=as_text(field.get("description")) or f"{self._operation} {name}",
            parameters=parameters,
            returns=_written(field.get("type")),
            tags=(self._operation,),
            effect=self._effect,
            deprecated=deprecated,
            successor=as_text(field.get("deprecationReason")) if deprecated else "",
            definition=entry.raw.decode(),
            inputs=self._schemas.text(zip(parameters, schemas, strict=True)),
        )


def _input_types(types: Mapping[str, JsonObject]) -> InputSchemas:
    """Schemas of inputs, in which each type that has fields or values is a part, written once."""
    return InputSchemas(cache(lambda name: _part(as_object(types.get(name)))))


def _part(given: JsonObject) -> JsonObject | None:
    if given.get("kind") == "ENUM":
        values = [as_string(as_object(each).get("name")) for each in as_list(given.get("enumValues"))]
        return {"type": "string", "enum": values}
    if given.get("kind") != "INPUT_OBJECT":
        return None
    fields = _with_names(given.get("inputFields"))
    required = [as_string(each["name"]) for each in fields if _required(each)]
    properties = {as_string(each["name"]): _input(each) for each in fields}
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _with_names(given: object) -> list[JsonObject]:
    return [each for each in map(as_object, as_list(given)) if as_string(each.get("name"))]


def _input(given: JsonObject) -> JsonObject:
    """JSON Schema of an argument or of a field of an input, with its description and default."""
    text = as_text(given.get("description"))
    described = {"description": text} if text else {}
    return _schema(given.get("type"), _MAX_WRAPPERS) | described | _default(given.get("defaultValue"))


def _default(written: object) -> JsonObject:
    """The default as JSON; none where GraphQL's form is another one, as for objects."""
    if not isinstance(written, str):
        return {}
    try:
        return {"default": msgspec.json.decode(written)}
    except UNREADABLE:
        return {"default": written} if _NAME.fullmatch(written) else {}


def _schema(given: object, depth: int) -> JsonObject:
    """JSON Schema of an input, with a reference to what its type is."""
    kind, name, inner = _unwrapped(given)
    if kind == "LIST" and depth:
        return {"type": "array", "items": _schema(inner, depth - 1)}
    if kind in {"ENUM", "INPUT_OBJECT"}:
        return {"$ref": name}
    return {"type": _SCALARS[name]} if name in _SCALARS else {}


def _unwrapped(given: object) -> tuple[str, str, object]:
    """Kind and name of a type without its `NON_NULL`, and what a list is of."""
    node = as_object(given)
    for _ in range(_MAX_WRAPPERS):
        if node.get("kind") != "NON_NULL":
            break
        node = as_object(node.get("ofType"))
    return as_string(node.get("kind")), as_string(node.get("name")), node.get("ofType")


def _written(given: object, depth: int = _MAX_WRAPPERS) -> str:
    """A type as GraphQL writes it: `[Order!]!`."""
    node = as_object(given)
    if depth == 0 or not node:
        return ""
    if node.get("kind") == "NON_NULL":
        return f"{_written(node.get('ofType'), depth - 1)}!"
    if node.get("kind") == "LIST":
        return f"[{_written(node.get('ofType'), depth - 1)}]"
    return as_string(node.get("name"))


def _required(given: JsonObject) -> bool:
    return as_object(given.get("type")).get("kind") == "NON_NULL" and given.get("defaultValue") is None


def _parameter(given: JsonObject) -> Parameter:
    kind, name, _ = _unwrapped(given.get("type"))
    written = (
        "array" if kind == "LIST" else _SCALARS.get(name, "object" if kind == "INPUT_OBJECT" else "string")
    )
    return Parameter(as_string(given["name"]), written, _required(given), as_text(given.get("description")))
