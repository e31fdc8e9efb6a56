"""Operations of OpenAPI 3.0 and 3.1 and Swagger 2 descriptions, in JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_foundation.yaml_values import InvalidYaml, parse_yaml
from kitpick_ingest.chains import Field, with_chains
from kitpick_ingest.declared import declared
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import (
    BadEntry,
    Converted,
    FoundFile,
    as_text,
    convert_entry,
    dead_letter,
    find_files,
    read_parts,
)
from kitpick_ingest.errors import SourceError
from kitpick_ingest.fingerprints import file_fingerprint
from kitpick_ingest.json_files import Entry, parse, read_file
from kitpick_ingest.json_schema import parameter, parameters, property_names, schema_fields
from kitpick_ingest.json_values import (
    JsonObject,
    References,
    as_list,
    as_object,
    as_string,
    pointer,
    segments,
    unresolved,
)
from kitpick_ingest.prose import MAX_RETURNS, clip
from kitpick_ingest.source_names import default_name

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A larger description is refused unless the source has another limit."""

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


class OpenApiSource:
    """Operations of one description, or of those in a folder or that match a pattern.

    An id is `name/tool/api`; where there are several files, `name/path/to/file.json/api`, as titles repeat.
    `$ref`s are resolved within their file and never fetched: what cannot be resolved is noted in the
    description of the parameter. `definition` is the operation byte for byte as it stands in a JSON file; an
    operation in YAML is rendered as JSON, once and always the same.

    Args:
        path: file, folder or pattern.
        name: owner of the documents; by default taken from the path.
        max_file_bytes: larger files are refused, as are YAML files that would be larger without aliases.
    """

    def __init__(self, path: Path, name: str | None = None, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self.name = name or default_name("openapi", str(path))
        self._path = path
        self._limit = max_file_bytes

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the files, of each file in the order of its paths.

        Raises:
            SourceError: nothing there, or the one file that is there cannot be read.
        """
        files = find_files(self._path, _SUFFIXES)
        yield from read_parts(self.name, files, partial(self._read_file, tools=set()))

    def fingerprint(self) -> str:
        """Changes with the files.

        Raises:
            SourceError: nothing there.
            OSError: a file cannot be read.
        """
        files = find_files(self._path, _SUFFIXES)
        return file_fingerprint((file.path for file in files), str(self._path), str(self._limit))

    def _read_file(self, file: FoundFile, tools: set[str]) -> Iterator[Converted]:
        specification = load_specification(file.path, self._limit)
        tool = _tool_name(specification.info, file, tools)
        yield from _SpecificationReader(self.name, specification, tool, file.place or (tool,)).read()


class _SpecificationReader:
    """Yields the operations of one description."""

    def __init__(self, source: str, specification: Specification, tool: str, place: tuple[str, ...]) -> None:
        self._source = source
        self._specification = specification
        self._tool = tool
        self._place = place
        self._references = References(specification.tree)
        self._operations = OperationReader(self._references)
        self._names: set[str] = set()

    def read(self) -> Iterator[Converted]:
        paths = self._specification.tree.get("paths")
        if paths is not None and not isinstance(paths, dict):
            raise SourceError(self._specification.where, "is not OpenAPI: its paths must be an object")
        for path, item in as_object(paths).items():
            if not path.startswith("x-"):
                yield from self._read_path(path, item)

    def _read_path(self, path: str, item: object) -> Iterator[Converted]:
        place: tuple[str, ...] = ("paths", path)
        target = self._references.resolve(item) if isinstance(item, dict) else None
        if target is None or unresolved(target):
            problem = f"unresolved reference {unresolved(target)}" if target else "a path must be an object"
            yield dead_letter(self._source, self._entry(place, item), problem)
            return
        if target is not item:
            place = self._last_place(as_object(item))
        for method in METHODS:
            if method in target:
                entry = self._entry((*place, method), target[method])
                yield convert_entry(
                    self._source, entry, partial(self._document, path=path, method=method, item=target)
                )

    def _last_place(self, item: JsonObject) -> tuple[str, ...]:
        """The position of the object at the end of a chain of references."""
        place: tuple[str, ...] = ()
        while reference := unresolved(item):
            place = segments(reference)
            item = self._references.target(reference) or {}
        return place

    def _entry(self, place: tuple[str, ...], value: object) -> Entry:
        raw = self._specification.text(place, value)
        return Entry(f"{self._specification.where}#{pointer(*place)}", raw)

    def _document(self, entry: Entry, path: str, method: str, item: JsonObject) -> ApiDocument:
        operation = item[method]
        if not isinstance(operation, dict):
            raise BadEntry("an operation must be an object")
        call = f"{method.upper()} {path}"
        api = self._unique_name(as_string(operation.get("operationId")), call)
        tags = tuple(tag for tag in as_list(operation.get("tags")) if isinstance(tag, str))
        document = ApiDocument(
            id=document_id(self._source, *self._place, api),
            source=self._source,
            category=_category(self._specification.info, tags),
            tool=self._tool,
            api=api,
            description=_description(item, operation, call if api != call else ""),
            parameters=self._operations.parameters(item, operation),
            returns=self._operations.returns(operation),
            tags=tags,
            version=as_text(self._specification.info.get("version")),
            deprecated=operation.get("deprecated") is True,
            effect=effect_of_method(method),
            definition=entry.raw.decode(),
        )
        answer, linked = self._operations.answer(operation), self._operations.linked(operation)
        before = declared(operation.get("x-depends-on"))
        return with_chains(document, answer, path, linked=linked, declared=before)

    def _unique_name(self, operation_id: str, call: str) -> str:
        """The operationId; the call where it has none, both where another operation has the same."""
        first = operation_id or call
        for name in (first, f"{first} ({call})"):
            if name not in self._names:
                self._names.add(name)
                return name
        raise BadEntry(f"another operation is called {first!r} as well")


def _tool_name(info: JsonObject, file: FoundFile, taken: set[str]) -> str:
    """The title; with the service, the provider or the file where another description has the same title."""
    provider, service = as_string(info.get("x-providerName")), as_string(info.get("x-serviceName"))
    title = as_string(info.get("title")) or service or provider or file.path.stem
    more = (service, provider, f"{provider} {service}", "/".join(file.place))
    names = (title, *(f"{title} ({which})" for which in more if which.strip()))
    name = next((name for name in names if name not in taken), names[-1])
    taken.add(name)
    return name


def _category(info: JsonObject, tags: tuple[str, ...]) -> str:
    """The shelf in the APIs.guru directory, or else the operation's first tag."""
    return next((c for c in (*as_list(info.get("x-apisguru-categories")), *tags) if isinstance(c, str)), "")


def _description(item: JsonObject, operation: JsonObject, call: str) -> str:
    """Summary, description and call: its method and path stand outside the operation's definition."""
    summary, text = (_first_text(key, operation, item) for key in ("summary", "description"))
    lead = "" if text.startswith(summary.rstrip(".")) else summary
    return "\n".join(part for part in (lead, text, call) if part)


def _first_text(key: str, *values: JsonObject) -> str:
    return next((text for value in values if (text := as_text(value.get(key)).strip())), "")


_BODY = "body"
_MAX_LINKS = 100
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI 3 ignores parameters of these names: media types and security are described elsewhere."""


class OperationReader:
    """Reads the operations of one description. Shared parts are converted once.

    Args:
        references: resolves the `$ref`s of the description.
    """

    def __init__(self, references: References) -> None:
        self._references = references
        self._bodies: dict[str, tuple[Parameter, ...]] = {}
        self._results: dict[str, str] = {}
        self._answers: dict[str, tuple[Field, ...]] = {}

    def parameters(self, item: JsonObject, operation: JsonObject) -> tuple[Parameter, ...]:
        """Inputs of an operation: its own parameters before the path's, then the fields of its body.

        An operation's parameter replaces the path's with the same name and location; of equal names in
        different locations the first is kept.
        """
        declared: dict[tuple[str, str], Parameter] = {}
        bodies: list[JsonObject] = []
        for value in (*as_list(operation.get("parameters")), *as_list(item.get("parameters"))):
            target = self._references.resolve(as_object(value))
            location, name = as_string(target.get("in")), _parameter_name(target)
            if location == _BODY:
                bodies.append(target)
            elif name and not (location == "header" and name.lower() in _IGNORED_HEADERS):
                declared.setdefault((location, name), self._parameter(name, target))
        found: dict[str, Parameter] = {}
        for p in (*declared.values(), *self._body(operation, bodies)):
            found.setdefault(p.name, p)
        return tuple(found.values())

    def returns(self, operation: JsonObject) -> str:
        """Description of the first successful response, with the names of its fields."""
        response = self._response(operation)
        fields = self._fields(_response_schema(response))
        return clip(": ".join(filter(None, (as_string(response.get("description")), fields))), MAX_RETURNS)

    def answer(self, operation: JsonObject) -> tuple[Field, ...] | None:
        """Identifiers in the first successful response, None where no schema describes them."""
        schema = _response_schema(self._response(operation))
        if not schema:
            return None
        reference = unresolved(schema)
        if reference not in self._answers:
            fields = tuple(schema_fields(schema, self._references))
            if not reference:
                return fields
            self._answers[reference] = fields
        return self._answers[reference]

    def linked(self, operation: JsonObject) -> Iterator[str]:
        """Inputs of other operations that the response's `links` fill from it."""
        for link in list(as_object(self._response(operation).get("links")).values())[:_MAX_LINKS]:
            yield from list(as_object(as_object(link).get("parameters")))[:_MAX_LINKS]

    def _response(self, operation: JsonObject) -> JsonObject:
        responses = as_object(operation.get("responses"))
        codes = [*sorted(code for code in responses if code.startswith("2")), "default"]
        success = next((responses[code] for code in codes if code in responses), None)
        return self._references.resolve(as_object(success))

    def _parameter(self, name: str, target: JsonObject) -> Parameter:
        schema = as_object(target.get("schema")) or _content_schema(target) or target  # the last: Swagger 2
        return self._described(name, schema, target)

    def _body(self, operation: JsonObject, swagger_bodies: list[JsonObject]) -> tuple[Parameter, ...]:
        """The properties of the body's schema, or the body itself where it is no object."""
        bodies = [self._references.resolve(as_object(operation.get("requestBody"))), *swagger_bodies]
        body = next(filter(None, bodies), None)
        if body is None:
            return ()
        schema = _content_schema(body) or as_object(body.get("schema")) or body
        return self._properties(schema) or (self._described(_BODY, schema, body),)

    def _properties(self, schema: JsonObject) -> tuple[Parameter, ...]:
        reference = unresolved(schema)
        if not reference:
            return parameters(schema, self._references)
        if reference not in self._bodies:
            self._bodies[reference] = parameters(schema, self._references)
        return self._bodies[reference]

    def _described(self, name: str, schema: JsonObject, owner: JsonObject) -> Parameter:
        """A parameter of a schema, whose owner may describe it better."""
        if description := as_string(owner.get("description")):
            schema = {**schema, "description": description}
        return parameter(name, schema, owner.get("required") is True, self._references)

    def _fields(self, schema: JsonObject) -> str:
        reference = unresolved(schema)
        if reference not in self._results:
            fields = clip(", ".join(property_names(schema, self._references)), MAX_RETURNS)
            if not reference:
                return fields
            self._results[reference] = fields
        return self._results[reference]


def _parameter_name(target: JsonObject) -> str:
    """The name of a parameter; of an unresolved one, the name of its reference."""
    if missing := unresolved(target):
        return (segments(missing) or (missing,))[-1]
    return as_string(target.get("name"))


def _response_schema(response: JsonObject) -> JsonObject:
    return as_object(_content_schema(response) or response.get("schema"))


def _content_schema(value: JsonObject) -> JsonObject:
    """The schema of the most informative media type: JSON first."""
    content = as_object(value.get("content"))
    media: Any = next((content[kind] for kind in content if "json" in kind), None)
    return as_object(as_object(media or next(iter(content.values()), None)).get("schema"))


_VERSIONS = ("2.", "3.")
_Level = dict[str, msgspec.Raw] | list[msgspec.Raw]
_LEVEL: msgspec.json.Decoder[_Level] = msgspec.json.Decoder(_Level)


class Specification:
    """A parsed description.

    Attributes:
        where: the file, for positions.
        tree: the whole description.
    """

    def __init__(self, where: str, tree: JsonObject, data: bytes | None) -> None:
        self.where = where
        self.tree = tree
        self._levels: dict[tuple[str, ...], _Level] = {}
        if data is not None:
            self._levels[()] = parse(data, where, dict[str, msgspec.Raw])

    @property
    def info(self) -> JsonObject:
        """The object `info` of the description."""
        return as_object(self.tree.get("info"))

    def text(self, place: tuple[str, ...], value: object) -> bytes:
        """The value at a place of the tree: the bytes that a JSON file has there, else rendered as JSON."""
        if not self._levels:
            return msgspec.json.encode(value)
        return bytes(self._raw(place))

    def _raw(self, place: tuple[str, ...]) -> msgspec.Raw:
        around, key = self._level(place[:-1]), place[-1]
        return around[int(key)] if isinstance(around, list) else around[key]

    def _level(self, place: tuple[str, ...]) -> _Level:
        if place not in self._levels:
            self._levels[place] = _LEVEL.decode(self._raw(place))
        return self._levels[place]


def load_specification(path: Path, limit: int) -> Specification:
    """Reads OpenAPI 3 or Swagger 2, in JSON or YAML.

    Raises:
        SourceError: not readable, larger than `limit` bytes, neither JSON nor YAML, or something else.
    """
    where = str(path)
    data = read_file(path, limit)
    specification = _json(data, where) if _is_json(data, path) else _yaml(data, where, limit)
    version = _version(specification.tree)
    if not version.startswith(_VERSIONS):
        what = f"has version {version!r}" if version else "has neither the key 'openapi' nor 'swagger'"
        raise SourceError(where, f"is not an OpenAPI 3 or Swagger 2 description: it {what}")
    return specification


def _is_json(data: bytes, path: Path) -> bool:
    """YAML is nearly a superset of JSON, so a brace alone does not tell."""
    if path.suffix.lower() == ".json":
        return True
    if data.lstrip()[:1] != b"{":
        return False
    try:
        parse(data, str(path), msgspec.Raw)
    except SourceError:
        return False
    return True


def _json(data: bytes, where: str) -> Specification:
    return Specification(where, parse(data, where, dict[str, Any]), data)


def _yaml(data: bytes, where: str, limit: int) -> Specification:
    try:
        tree = parse_yaml(data, limit)
    except InvalidYaml as error:
        raise SourceError(where, str(error)) from error
    if not isinstance(tree, dict):
        raise SourceError(where, "is not an OpenAPI description: it must be a mapping")
    return Specification(where, tree, None)


def _version(tree: JsonObject) -> str:
    version = tree.get("openapi") or tree.get("swagger")
    return str(version) if isinstance(version, (str, int, float)) else ""
