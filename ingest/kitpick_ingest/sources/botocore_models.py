"""Operations of AWS services, read from the service models of the package `botocore`."""

from __future__ import annotations

import difflib
import gzip
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kitpick_engines.document import ApiDocument, Effect, Parameter, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.text_files import as_utf8
from kitpick_ingest.chains import Shape, answer_fields, with_chains
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import Converted, convert_entry, read_parts
from kitpick_ingest.errors import SourceError
from kitpick_ingest.fingerprints import file_fingerprint
from kitpick_ingest.input_schemas import InputSchemas
from kitpick_ingest.json_files import Entry, os_reason, parse
from kitpick_ingest.json_values import JsonObject
from kitpick_ingest.prose import MAX_PARAMETER_DESCRIPTION, MAX_RETURNS, clip, html_text

if TYPE_CHECKING:
    from botocore.loaders import Loader

CATEGORY = "AWS"
MAX_MODEL_BYTES = 256 * 1024 * 1024
"""An unpacked service model above this size is refused; the largest real one has 10 MB."""

_NOTICES = re.compile(r"(?:\s*<(note|important)>.*?</\1>)+", re.DOTALL)
"""Notices before the description proper."""
_MODEL = "service-2"
_SUFFIXES = (".json", ".json.gz")
_VERB = re.compile(
    r"(?:Admin|Batch|Bulk|Transact)?(?:"
    r"(?P<read>Get|List|Describe|Head|Search|Query|Scan|Lookup|Retrieve|Discover|Estimate|Preview|View|Count|Is)"
    r"|(?P<destructive>Delete|Terminate|Purge|Destroy|Deregister)"
    r")(?![a-z])"
)
_JSON_TYPES = {
    "structure": "object",
    "map": "object",
    "list": "array",
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
    "string": "string",
    "timestamp": "string",
    "blob": "string",
}


class _Reference(msgspec.Struct):
    shape: str
    documentation: str = ""


class _Shape(msgspec.Struct):
    type: str = ""
    documentation: str = ""
    required: list[str] = []
    members: dict[str, _Reference] = {}
    member: _Reference | None = None
    value: _Reference | None = None
    enum: list[Any] | None = None
    min: float | None = None
    max: float | None = None


_NO_SHAPE = _Shape()
_MAX_LISTS = 4
"""Lists in lists that are looked through."""


class _ModelMetadata(msgspec.Struct, rename="camel"):
    service_id: str = ""
    service_full_name: str = ""
    api_version: str = ""


class _Model(msgspec.Struct):
    """A service model; operations stay as the bytes they are in the file."""

    metadata: _ModelMetadata
    operations: dict[str, msgspec.Raw]
    shapes: dict[str, _Shape] = {}


class _Http(msgspec.Struct):
    method: str = ""


class _OperationModel(msgspec.Struct, rename="camel"):
    documentation: str = ""
    http: _Http = msgspec.field(default_factory=_Http)
    input: _Reference | None = None
    output: _Reference | None = None
    readonly: bool = False
    deprecated: bool = False
    deprecated_message: str = ""


class BotocoreSource:
    """Operations of the newest model of each service, by service name, in model order.

    Models in `~/.aws/models` and on the path AWS_DATA_PATH count as well, as they do for botocore itself.

    Args:
        services: botocore's names of services (`s3`, `ec2`); all that are installed when None.
        name: owner of the documents; an id is `name/service/operation`.

    Raises:
        MissingExtra: botocore is not installed.
    """

    def __init__(self, services: Sequence[str] | None = None, name: str = "botocore") -> None:
        self.name = name
        self._services = services
        self._loader = _new_loader()

    def read(self) -> Iterator[Converted]:
        """One document an operation; `definition` is the operation's bytes in the model file."""
        yield from read_parts(self.name, self._known_services(), self._read_service)

    def fingerprint(self) -> str:
        """Changes with the models of these services."""
        services = self._known_services()
        return file_fingerprint((self._model_path(service) for service in services), *services)

    def _known_services(self) -> Sequence[str]:
        known: list[str] = self._loader.list_available_services(_MODEL)
        if self._services is None:
            return known
        for service in self._services:
            if service not in known:
                raise SourceError(
                    f"botocore:{service}", "botocore has no service of this name", _suggestion(service, known)
                )
        return list(dict.fromkeys(self._services))

    def _read_service(self, service: str) -> Iterator[Converted]:
        path = self._model_path(service)
        model = parse(_unpacked(path), str(path), _Model)
        reader = _ServiceReader(self.name, service, model)
        for operation, raw in model.operations.items():
            entry = Entry(f"{path}#/operations/{operation}", bytes(raw))
            yield convert_entry(self.name, entry, partial(reader.document, operation=operation))

    def _model_path(self, service: str) -> Path:
        version = self._loader.determine_latest_version(service, _MODEL)
        candidates = (
            Path(folder, service, version, _MODEL + suffix)
            for folder in self._loader.search_paths
            for suffix in _SUFFIXES
        )
        return next(path for path in candidates if path.is_file())


class _ServiceReader:
    """Makes documents of the operations of one service. Each shape is opened once."""

    def __init__(self, source: str, service: str, model: _Model) -> None:
        self._source, self._service, self._model = source, service, model
        self._tool = _tool_name(service, model.metadata)
        self._schemas = InputSchemas(cache(partial(_json_schema, model.shapes)))
        self._shape = cache(partial(_opened, model.shapes))

    def document(self, entry: Entry, operation: str) -> ApiDocument:
        described = decode_as(entry.raw, _OperationModel)
        shapes = self._model.shapes
        members = _target(described.input, shapes).members
        document = ApiDocument(
            id=document_id(self._source, self._service, operation),
            source=self._source,
            category=CATEGORY,
            tool=self._tool,
            api=operation,
            description=_description(described),
            parameters=(inputs := _parameters(described.input, shapes)),
            inputs=self._schemas.text(zip(inputs, map(_referred, members.values()), strict=True)),
            returns=clip(", ".join(_target(described.output, shapes).members), MAX_RETURNS),
            version=self._model.metadata.api_version,
            deprecated=described.deprecated,
            effect=_effect(operation, described),
            definition=entry.raw.decode(),
        )
        output = described.output.shape if described.output else ""
        return with_chains(document, answer_fields(output, self._shape))


def _suggestion(service: str, known: Sequence[str]) -> str:
    """The nearest names. Of a name of two letters, one changed letter leaves half."""
    likeness = 0.6 if len(service) > 3 else 0.5
    close = difflib.get_close_matches(service.lower(), known, cutoff=likeness)
    return f"did you mean {', '.join(close)}?" if close else f"there are {len(known)}, from {known[0]}"


def _new_loader() -> Loader:
    try:
        from botocore.loaders import create_loader
    except ImportError as error:
        raise MissingExtra("aws", "reading AWS service models") from error
    return create_loader(os.environ.get("AWS_DATA_PATH"))


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(MAX_MODEL_BYTES + 1)
    except (OSError, EOFError) as error:
        raise SourceError(str(path), f"cannot be read: {os_reason(error)}") from error
    if len(data) > MAX_MODEL_BYTES:
        raise SourceError(str(path), f"is larger than {MAX_MODEL_BYTES:,} bytes unpacked")
    return as_utf8(data)


def _tool_name(service: str, metadata: _ModelMetadata) -> str:
    """`Amazon Simple Queue Service (SQS)`: people search by either name."""
    full, short = metadata.service_full_name, metadata.service_id
    if not full or not short or short in full:
        return full or short or service
    return f"{full} ({short})"


def _description(operation: _OperationModel) -> str:
    # A notice such as "not supported for directory buckets" stands before hundreds of descriptions: the
    # first words are what people read and models weigh, so they belong to what the operation does.
    notices = _NOTICES.match(operation.documentation)
    begin = notices.end() if notices else 0
    text = html_text(f"{operation.documentation[begin:]} {operation.documentation[:begin]}")
    message = operation.deprecated_message if operation.deprecated else ""
    return f"{text} Deprecated: {message}" if message else text


def _parameters(reference: _Reference | None, shapes: dict[str, _Shape]) -> tuple[Parameter, ...]:
    shape = _target(reference, shapes)
    return tuple(
        Parameter(name, _type(member, shapes), name in shape.required, _member_text(member, shapes))
        for name, member in shape.members.items()
    )


def _target(reference: _Reference | None, shapes: dict[str, _Shape]) -> _Shape:
    return shapes.get(reference.shape, _NO_SHAPE) if reference else _NO_SHAPE


def _referred(reference: _Reference) -> JsonObject:
    text = html_text(reference.documentation, MAX_PARAMETER_DESCRIPTION)
    return {"$ref": reference.shape} | ({"description": text} if text else {})


_BOUNDS = {"string": "Length", "list": "Items", "map": "Properties", "integer": "imum", "long": "imum"}
_BOUNDS |= {"float": "imum", "double": "imum"}
_FORMATS = {"timestamp": {"format": "date-time"}, "blob": {"contentEncoding": "base64"}}


def _json_schema(shapes: dict[str, _Shape], name: str) -> JsonObject | None:
    """A shape as a JSON Schema, whose `$ref`s are names of shapes."""
    shape = shapes.get(name)
    if shape is None:
        return None
    schema: JsonObject = {"type": _JSON_TYPES.get(shape.type, shape.type)}
    schema |= _FORMATS.get(shape.type, {})
    if shape.enum:
        schema["enum"] = shape.enum
    if shape.type == "structure":
        schema["properties"] = {member: _referred(each) for member, each in shape.members.items()}
        schema |= {"required": shape.required} if shape.required else {}
    if shape.member is not None:
        schema["items"] = _referred(shape.member)
    if shape.value is not None:
        schema["additionalProperties"] = _referred(shape.value)
    if bounds := _BOUNDS.get(shape.type):
        schema |= {f"min{bounds}": _whole(shape.min)} if shape.min is not None else {}
        schema |= {f"max{bounds}": _whole(shape.max)} if shape.max is not None else {}
    return schema


def _whole(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _member_text(member: _Reference, shapes: dict[str, _Shape]) -> str:
    """Documentation of the member, or else of its shape."""
    text = member.documentation or _target(member, shapes).documentation
    return html_text(text, MAX_PARAMETER_DESCRIPTION)


def _type(reference: _Reference, shapes: dict[str, _Shape], of_list: bool = False) -> str:
    shape = _target(reference, shapes)
    if shape.type == "list" and shape.member is not None and not of_list:
        return f"array of {_type(shape.member, shapes, of_list=True)}"
    return _JSON_TYPES.get(shape.type, shape.type)


_PLAIN = Shape[str]("", (), None)


def _opened(shapes: dict[str, _Shape], name: str) -> Shape[str]:
    target = shapes.get(name, _NO_SHAPE)
    for _ in range(_MAX_LISTS):
        if target.member is None:
            break
        target = shapes.get(target.member.shape, _NO_SHAPE)
    if not target.members:
        return _PLAIN
    return Shape(name, [(field, member.shape) for field, member in target.members.items()], id(target))


def _effect(name: str, operation: _OperationModel) -> Effect:
    """The effect by the model's own mark, else the verb of the name, else the HTTP method (mostly POST)."""
    if operation.readonly:
        return Effect.READ
    if verb := _VERB.match(name):
        return Effect.READ if verb["read"] else Effect.DESTRUCTIVE
    effect = effect_of_method(operation.http.method)
    return Effect.WRITE if effect is Effect.UNKNOWN else effect
