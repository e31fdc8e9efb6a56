"""Methods of Google APIs, read from their discovery documents.

Format: https://developers.google.com/discovery/v1/reference/apis
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.chains import Field, Shape, answer_fields, with_chains
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import Converted, as_text, convert_entry, dead_letter, read_files
from kitpick_ingest.errors import SourceError
from kitpick_ingest.fingerprints import found_fingerprint
from kitpick_ingest.found_files import FoundFile, find_files
from kitpick_ingest.input_schemas import InputSchemas
from kitpick_ingest.json_files import UNREADABLE, Entry, parse, read_file, reason
from kitpick_ingest.json_schema import told_apart
from kitpick_ingest.json_values import JsonObject, as_object, as_string, pointer
from kitpick_ingest.prose import MAX_PARAMETER_DESCRIPTION, MAX_RETURNS, clip
from kitpick_ingest.repeated_keys import lost_values, repeated_keys

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A larger discovery document is refused; the largest real one has 6 MB."""

_SUFFIXES = frozenset({".json"})
_MAX_LISTS = 4
"""Lists in lists that are looked through."""
_DIRECTORY = "discovery#directoryList"
_DESCRIPTION = "discovery#restDescription"


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
    schemas: dict[str, JsonObject] = {}

    @property
    def tool(self) -> str:
        """Versions of an API are tools of their own: `Compute Engine API beta`."""
        return f"{self.title or self.name} {self.version}".strip()

    @property
    def key(self) -> str:
        """Identity of this version of the API: `gmail:v1`."""
        return self.id or f"{self.name}:{self.version}"


class _Method(msgspec.Struct, rename="camel"):
    id: str
    description: str = ""
    http_method: str = ""
    path: str = ""
    parameters: dict[str, JsonObject] = {}
    request: JsonObject | None = None
    response: JsonObject | None = None
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
        schemas = InputSchemas(description.schemas.get)
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
        placed = list(_placed(method, schemas))
        inputs = _parameters(placed)
        document = ApiDocument(
            id=document_id(self.name, description.key, method.id),
            source=self.name,
            category=description.owner_name,
            tool=description.tool,
            api=method.id,
            description=method.description,
            parameters=inputs,
            inputs=schemas.text(zip(inputs, (field for *_, field in placed), strict=True)),
            returns=clip(", ".join(_fields(method.response, schemas)), MAX_RETURNS),
            tags=tuple(scope.rstrip("/").rpartition("/")[2] for scope in method.scopes),
            version=description.version,
            deprecated=method.deprecated,
            effect=effect_of_method(method.http_method),
            definition=entry.raw.decode(),
        )
        patterns = [
            (name, pattern)
            for name, each in method.parameters.items()
            if (pattern := as_string(each.get("pattern")))
        ]
        return with_chains(document, _answer(method.response, schemas), method.path, patterns)


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


def _placed(method: _Method, schemas: InputSchemas) -> Iterator[tuple[str, str, JsonObject]]:
    """Place, name and schema: parameters of path and query, then fields of the body that a caller may set."""
    for name, field in method.parameters.items():
        yield as_string(field.get("location")) or "query", name, field
    for name, field in _fields(method.request, schemas).items():
        if field.get("readOnly") is not True:
            yield "body", name, field


def _parameters(placed: Iterable[tuple[str, str, JsonObject]]) -> tuple[Parameter, ...]:
    described = (
        (place, name, field, clip(as_text(field.get("description")), MAX_PARAMETER_DESCRIPTION))
        for place, name, field in placed
    )
    return told_apart(
        (place, Parameter(name, _type(field), field.get("required") is True, text))
        for place, name, field, text in described
    )


def _fields(schema: JsonObject | None, schemas: InputSchemas) -> dict[str, JsonObject]:
    """Schemas of the fields of an object."""
    found = as_object(schemas.resolved(schema).get("properties"))
    return {name: as_object(field) for name, field in found.items()}


def _type(schema: JsonObject) -> str:
    kind = as_string(schema.get("type"))
    if schema.get("repeated") is True or kind == "array":
        items = schema.get("items")
        member = as_string(as_object(items).get("type")) or "object"
        return f"array of {kind if items is None else member}"
    return "object" if "$ref" in schema else kind


def _answer(response: JsonObject | None, schemas: InputSchemas) -> Iterator[Field]:
    """Identifiers in the response; none where there is no response."""

    def shape_of(schema: JsonObject) -> Shape[JsonObject]:
        for _ in range(_MAX_LISTS):
            if not isinstance(items := schema.get("items"), dict):
                break
            schema = items
        fields = _fields(schema, schemas)
        return Shape(as_string(schema.get("$ref")), list(fields.items()), id(schemas.resolved(schema)))

    return answer_fields(response or {}, shape_of)
