"""gRPC: the methods of the services in a descriptor set, as `protoc --descriptor_set_out` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import msgspec

from kitpick_engines.document import ApiDocument, Effect, Parameter, document_id
from kitpick_ingest.chains import Shape, answer_fields, with_chains
from kitpick_ingest.descriptor_sets import MADE_BY, ProtoElement, read_set
from kitpick_ingest.effects import effect_of_function_name, effect_of_method
from kitpick_ingest.entries import BadEntry, Converted, FilesSource, convert_entry
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.json_values import JsonObject, as_list, as_object, as_string
from kitpick_ingest.prose import MAX_PARAMETER_DESCRIPTION, MAX_RETURNS, clip
from kitpick_ingest.proto_schemas import MAX_MESSAGE_FIELDS, WELL_KNOWN, ProtoSchemas
from kitpick_ingest.references import unresolved

SUFFIXES = frozenset({".binpb", ".desc", ".dsc", ".fds", ".pb", ".protoset"})
_MAX_SHOWN = 200
_HTTP_METHODS = ("get", "put", "post", "delete", "patch")
_HTTP = "[google.api.http]"
_STREAMING = {
    (True, True): "bidirectional streaming",
    (True, False): "client streaming",
    (False, True): "server streaming",
}


class GrpcSource(FilesSource):
    """Methods of a file that holds a `FileDescriptorSet`, or of a folder of such files.

    Ids are `name/SERVICE/METHOD`, the service with its package.
    """

    usual_name = "grpc"
    suffixes = SUFFIXES

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        described = read_set(file.path)
        make = _MethodDocuments(self.name, ProtoSchemas(described))
        empty = True
        for service in described.services():
            for index, method in enumerate(service.methods()):
                entry = Entry(within(str(file.path), service.name[:_MAX_SHOWN], index), b"")
                yield convert_entry(self.name, entry, partial(make.document, service=service, method=method))
                empty = False
        if empty:
            raise SourceError(str(file.path), "describes no method of a service", MADE_BY)


class _MethodDocuments:
    """Makes documents of the methods of one set."""

    def __init__(self, source: str, schemas: ProtoSchemas) -> None:
        self._source, self._schemas = source, schemas
        self._input = cache(self._input_of)
        self._shape = cache(self._shape_of)

    def document(self, _: Entry, service: ProtoElement, method: ProtoElement) -> ApiDocument:
        known = method.json
        name, options = as_string(known.get("name")), as_object(known.get("options"))
        if not name:
            raise BadEntry("a method without a name")
        parameters, inputs = self._input(as_string(known.get("inputType")))
        package, answer = service.package, as_string(known.get("outputType"))
        streams = known.get("clientStreaming") is True, known.get("serverStreaming") is True
        document = ApiDocument(
            id=document_id(self._source, service.name, name),
            source=self._source,
            category=package,
            tool=service.name.removeprefix(f"{package}."),
            api=name,
            description=method.comment(),
            parameters=parameters,
            returns=self._returns(answer, streams[1]),
            tags=(_STREAMING[streams],) if any(streams) else (),
            deprecated=service.is_deprecated or options.get("deprecated") is True,
            effect=_effect(name, options),
            about=service.comment(),
            definition=msgspec.json.encode({"path": f"/{service.name}/{name}", **known}).decode(),
            inputs=inputs,
        )
        return with_chains(document, answer_fields(answer, self._shape))

    def _input_of(self, name: str) -> tuple[tuple[Parameter, ...], str]:
        """The fields of the message that a method takes, and their schemas."""
        if name in WELL_KNOWN:
            return (), ""
        message = self._schemas.part(name)
        if message is None:
            raise BadEntry(
                f"the set does not hold the message {name[:_MAX_SHOWN]!r} that it takes ({MADE_BY})"
            )
        if "properties" not in message:
            raise BadEntry(f"the message {name[:_MAX_SHOWN]!r} has more than {MAX_MESSAGE_FIELDS:,} fields")
        required = as_list(message.get("required"))
        fields = {n: f for n, f in message["properties"].items() if f.get("readOnly") is not True}
        parameters = tuple(self._parameter(n, field, n in required) for n, field in fields.items())
        return parameters, self._schemas.inputs.text(zip(parameters, fields.values(), strict=True))

    def _parameter(self, name: str, field: JsonObject, required: bool) -> Parameter:
        target = self._schemas.inputs.resolved(field)
        said = as_string(field.get("description")) or as_string(target.get("description"))
        if missing := unresolved(target):
            said = f"{said} (unresolved reference {missing})".strip()
        kind = as_string(target.get("type"))
        if kind == "array":
            inner = as_string(self._schemas.inputs.resolved(target.get("items")).get("type"))
            kind = f"array of {inner}" if inner else kind
        return Parameter(name, kind, required, clip(said, MAX_PARAMETER_DESCRIPTION))

    def _returns(self, name: str, streamed: bool) -> str:
        """`stream Order: order_id, parent`."""
        fields = _properties(self._schemas.part(name) or {})
        shown = f"{'stream ' if streamed else ''}{name.rpartition('.')[2]}"
        return clip(f"{shown}: {', '.join(fields)}" if fields else shown, MAX_RETURNS)

    def _shape_of(self, name: str) -> Shape[str]:
        """The shape of a message by its name; the empty name is a plain value."""
        part = (self._schemas.part(name) if name else None) or {}
        fields = [(field, _message_of(schema)) for field, schema in _properties(part).items()]
        return Shape(name.rpartition(".")[2], fields, name)


def _properties(part: JsonObject) -> JsonObject:
    return as_object(part.get("properties"))


def _message_of(field: JsonObject) -> str:
    """The name of the message that a field holds, or several of; empty for any other."""
    return as_string(as_object(field.get("items") or field).get("$ref"))


def _effect(name: str, options: JsonObject) -> Effect:
    """The effect by what is said of repeating it, by its HTTP method, or by its name."""
    level = options.get("idempotencyLevel")
    if level == "NO_SIDE_EFFECTS":
        return Effect.READ
    effect = effect_of_method(_http_method(as_object(options.get(_HTTP))))
    if effect is Effect.UNKNOWN:
        effect = effect_of_function_name(name)
    return Effect.WRITE if effect is Effect.UNKNOWN and level == "IDEMPOTENT" else effect


def _http_method(rule: JsonObject) -> str:
    custom = as_string(as_object(rule.get("custom")).get("kind"))
    return next((method for method in _HTTP_METHODS if rule.get(method)), custom)
