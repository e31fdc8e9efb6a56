"""Methods of Google APIs, read from their discovery documents.

Format: https://developers.google.com/discovery/v1/reference/apis
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.chains import Field, Shape, answer_fields, with_chains
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import Converted, convert_entry, dead_letter, read_files
from kitpick_ingest.errors import SourceError
from kitpick_ingest.fingerprints import found_fingerprint
from kitpick_ingest.found_files import FoundFile, find_files
from kitpick_ingest.input_schemas import InputSchemas
from kitpick_ingest.json_files import UNREADABLE, Entry, parse, read_file, reason
from kitpick_ingest.json_schema import told_apart
from kitpick_ingest.json_values import as_object, pointer
from kitpick_ingest.prose import MAX_PARAMETER_DESCRIPTION, MAX_RETURNS, clip
from kitpick_ingest.repeated_keys import lost_values, repeated_keys

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A larger discovery document is refused; the largest real one has 6 MB."""

_SUFFIXES = frozenset({".json"})
_MAX_LISTS = 4
"""Lists in lists that are looked through."""
_DIRECTORY = "discovery#directoryList"
_DESCRIPTION = "discovery#restDescription"


class _Schema(msgspec.Struct, rename="camel"):
    type: str = ""
    description: str = ""
    pattern: str = ""
    location: str = ""
    ref: str = msgspec.field(default="", name="$ref")
    required: bool = False
    repeated: bool = False
    read_only: bool = False
    items: _Schema | None = None
    properties: dict[str, _Schema] = {}


class _Resource(msgspec.Struct):
    methods: dict[str, msgspec.Raw] = {}
    resources: dict[str, msgspec.Raw] = {}


class _Description(_Resource, rename="camel"):
    """A discovery document; methods stay as the bytes they are in the file."""

    kind: str = ""
    id: str = ""
    title: str = ""
    name: str = ""
    version: str = ""
    owner_name: str = "Google"
    schemas: dict[str, _Schema] = {}

    @property
    def tool(self) -> str:
        """Versions of an API are tools of their own: `Compute Engine API beta`."""
        return f"{self.title or self.name} {self.version}".strip()

    @property
    def key(self) -> str:
        """Identity of this version of the API: `gmail:v1`."""
        return self.id or f"{self.name}:{self.version}"


class _RawSchemas(msgspec.Struct):
    """The schemas as they stand there, for models that call the methods."""

    schemas: dict[str, Any] = {}


class _RawMethod(msgspec.Struct):
    parameters: dict[str, Any] = {}
    request: Any = None


class _Method(msgspec.Struct, rename="camel"):
    id: str
    description: str = ""
    http_method: str = ""
    path: str = ""
    parameters: dict[str, _Schema] = {}
    request: _Schema | None = None
    response: _Schema | None = None
    scopes: list[str] = []
    deprecated: bool = False


class GoogleDiscoverySource:
    """Methods of one discovery document, or of those in a folder or that match a pattern.

    Args:
        path: file, folder or pattern; the documents of the package google-api-python-client when None.
        name: owner of the documents; an id is `name/API:VERSION/method`.
    """

    def __init__(self, path: Path | None = None, name: str = "google") -> None:
        self.name = name
        self._path = path

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the files, the methods of a resource before its resources."""
        yield from read_files(self.name, self._files(), partial(self._read_file, seen={}))

    def fingerprint(self) -> str:
        """Changes with the files."""
        return found_fingerprint(self._files())

    def _files(self) -> list[FoundFile]:
        return find_files(self._path or installed_documents(), _SUFFIXES)

    def _read_file(self, file: FoundFile, seen: dict[str, Path]) -> Iterator[Converted]:
        data = read_file(file.path, MAX_FILE_BYTES)
        description = parse(data, str(file.path), _Description)
        if description.kind == _DIRECTORY:
            return  # the index that lies beside the documents
        if description.kind != _DESCRIPTION:
            raise SourceError(
                str(file.path), f"is not a discovery document: its kind is {description.kind!r}"
            )
        first = seen.setdefault(description.key, file.path)
        if first != file.path:
            raise SourceError(str(file.path), f"describes {description.key!r}, as {first.name} already does")
        yield from lost_values(self.name, str(file.path), repeated_keys(data))
        raw = parse(data, str(file.path), _RawSchemas).schemas
        schemas = InputSchemas(lambda name: raw[name] if isinstance(raw.get(name), dict) else None)
        make = partial(self._document, description=description, schemas=schemas)
        for entry in self._methods(description, str(file.path)):
            yield convert_entry(self.name, entry, make) if isinstance(entry, Entry) else entry

    def _methods(self, description: _Description, where: str) -> Iterator[Entry | Converted]:
        pending: list[tuple[tuple[str, ...], _Resource]] = [((), description)]
        while pending:
            place, resource = pending.pop()
            for name, raw in resource.methods.items():
                yield Entry(f"{where}#{pointer(*place, 'methods', name)}", bytes(raw))
            for name, raw in reversed(resource.resources.items()):
                below = (*place, "resources", name)
                try:
                    pending.append((below, decode_as(raw, _Resource)))
                except UNREADABLE as error:
                    yield dead_letter(
                        self.name, Entry(f"{where}#{pointer(*below)}", bytes(raw)), reason(error)
                    )

    def _document(self, entry: Entry, description: _Description, schemas: InputSchemas) -> ApiDocument:
        method = decode_as(entry.raw, _Method)
        document = ApiDocument(
            id=document_id(self.name, description.key, method.id),
            source=self.name,
            category=description.owner_name,
            tool=description.tool,
            api=method.id,
            description=method.description,
            parameters=(inputs := _parameters(method, description.schemas)),
            inputs=schemas.text(zip(inputs, _raw_inputs(method, entry, description, schemas), strict=True)),
            returns=_returns(method.response, description.schemas),
            tags=tuple(scope.rstrip("/").rpartition("/")[2] for scope in method.scopes),
            version=description.version,
            deprecated=method.deprecated,
            effect=effect_of_method(method.http_method),
            definition=entry.raw.decode(),
        )
        patterns = [(name, p.pattern) for name, p in method.parameters.items() if p.pattern]
        return with_chains(document, _answer(method.response, description.schemas), method.path, patterns)


def installed_documents() -> Path:
    """The folder of discovery documents that google-api-python-client carries.

    Raises:
        SourceError: the package is not installed.
    """
    package = importlib.util.find_spec("googleapiclient")
    if package is None or not package.submodule_search_locations:
        cure = "pip install google-api-python-client, or name a file or folder"
        raise SourceError("google-api-python-client", "is not installed", cure)
    return Path(package.submodule_search_locations[0], "discovery_cache", "documents")


def _parameters(method: _Method, schemas: dict[str, _Schema]) -> tuple[Parameter, ...]:
    """Parameters of the path and query, then the fields of the request body that a caller may set."""
    placed = _placed(method, schemas)
    return told_apart(
        (
            place,
            Parameter(name, _type(field), field.required, clip(field.description, MAX_PARAMETER_DESCRIPTION)),
        )
        for place, name, field in placed
    )


def _placed(method: _Method, schemas: dict[str, _Schema]) -> list[tuple[str, str, _Schema]]:
    """Each input with its place and its name."""
    placed = [(field.location or "query", name, field) for name, field in method.parameters.items()]
    return placed + [("body", name, field) for name, field in _fields(method.request, schemas).items()]


def _raw_inputs(
    method: _Method, entry: Entry, description: _Description, schemas: InputSchemas
) -> Iterator[object]:
    """The schemas of the inputs as they stand there, in the order of the parameters."""
    raw = decode_as(entry.raw, _RawMethod)
    body = as_object(schemas.resolved(raw.request).get("properties"))
    for place, name, _ in _placed(method, description.schemas):
        yield body.get(name) if place == "body" else raw.parameters.get(name)


def _fields(body: _Schema | None, schemas: dict[str, _Schema]) -> dict[str, _Schema]:
    schema = schemas.get(body.ref, body) if body else None
    return {name: field for name, field in schema.properties.items() if not field.read_only} if schema else {}


def _type(schema: _Schema) -> str:
    if schema.repeated or schema.type == "array":
        member = schema.items.type or "object" if schema.items else schema.type
        return f"array of {member}"
    return "object" if schema.ref else schema.type


def _answer(response: _Schema | None, schemas: dict[str, _Schema]) -> Iterator[Field]:
    """Identifiers in the response; none where there is no response."""

    def shape_of(schema: _Schema) -> Shape[_Schema]:
        for _ in range(_MAX_LISTS):
            if schema.items is None:
                break
            schema = schema.items
        target = schemas.get(schema.ref, schema)
        return Shape(schema.ref, list(target.properties.items()), id(target))

    return answer_fields(response or _Schema(), shape_of)


def _returns(response: _Schema | None, schemas: dict[str, _Schema]) -> str:
    schema = schemas.get(response.ref, response) if response else None
    return clip(", ".join(schema.properties), MAX_RETURNS) if schema else ""
