"""Operations of OpenAPI 3.0 to 3.2 and Swagger 2 descriptions, in JSON or YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_engines.text import storable
from kitpick_ingest.chains import Field, with_chains
from kitpick_ingest.declared import declared
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import BadEntry, Converted, as_text, convert_entry, dead_letter, read_files
from kitpick_ingest.errors import SourceError
from kitpick_ingest.fingerprints import found_fingerprint
from kitpick_ingest.found_files import FoundFile, find_files
from kitpick_ingest.input_schemas import InputSchemas
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.json_schema import (
    parameter,
    parameters,
    property_names,
    property_schemas,
    schema_fields,
    told_apart,
)
from kitpick_ingest.json_values import (
    JsonObject,
    as_list,
    as_object,
    as_string,
    pointer,
    segments,
)
from kitpick_ingest.path_inputs import with_places
from kitpick_ingest.prose import MAX_RETURNS, clip
from kitpick_ingest.references import References, file_of, unresolved
from kitpick_ingest.repeated_keys import lost_values
from kitpick_ingest.source import DeadLetter, Remark
from kitpick_ingest.source_names import default_name
from kitpick_ingest.sources.openapi_files import (
    SUFFIXES,
    Description,
    NoDescription,
    Specification,
    part_files,
)

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A larger description is refused unless the source has another limit."""

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
"""Methods that have a key of their own in a path; `additionalOperations` holds those of other methods."""
_OTHER_KEYS = frozenset(
    {"$ref", "$dynamicRef", "summary", "description", "servers", "parameters", "additionalOperations"}
)
_MAX_NAME = 200
_MAX_CHAIN = 32
"""References of a path or operation that lead to references are followed this often."""


class OpenApiSource:
    """Operations of one description, or of those in a folder or that match a pattern.

    An id is `name/tool/api`; where there are several files, `name/path/to/file.json/api`, as titles repeat.
    `$ref`s are resolved within their file and the files beside it and below, and never fetched: what cannot
    be resolved is noted in the description of the parameter. `definition` is the operation byte for byte as
    it stands in a JSON file; an operation in YAML is rendered as JSON, once and always the same.

    Every operation of `paths` comes out, or a dead letter names its place. Webhooks and callbacks are calls
    that the API itself makes: a remark tells of each kind. Callbacks stay in the definitions.

    Args:
        path: file, folder or pattern.
        name: owner of the documents; by default taken from the path.
        max_file_bytes: larger files are refused, as are YAML files that would be larger without aliases.
    """

    def __init__(self, path: Path, name: str | None = None, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self.name = name or default_name("openapi", str(path))
        self._path = path
        self._limit = max_file_bytes
        self._others: dict[str, NoDescription] = {}

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the files, of each file in the order of its paths."""
        files = find_files(self._path, SUFFIXES)
        parts: set[Path] = set()
        for item in read_files(self.name, files, partial(self._read_file, tools=set(), parts=parts)):
            if isinstance(item, ApiDocument) or item.position not in self._others:
                yield item
        yield from self._unread(parts)

    def _unread(self, parts: set[Path]) -> Iterator[DeadLetter]:
        """Files that are neither a description nor a part of one."""
        for where, error in self._others.items():
            if Path(where).resolve() not in parts:
                yield DeadLetter(self.name, where, error.what)

    def fingerprint(self) -> str:
        """Changes with the files."""
        files = find_files(self._path, SUFFIXES)
        read = [file.path for file in files if not file.problem]
        parts = {part for file in read for part in part_files(file, self._folder(file), self._limit)}
        return found_fingerprint(files, sorted(parts), str(self._path), str(self._limit))

    def _folder(self, file: Path) -> Path:
        """The folder that the parts of a description are in."""
        return self._path if self._path.is_dir() else file.parent

    def _read_file(self, file: FoundFile, tools: set[str], parts: set[Path]) -> Iterator[Converted]:
        try:
            description = Description(file.path, self._folder(file.path), self._limit)
        except NoDescription as error:
            self._others[error.where] = error
            raise
        tool = _tool_name(description.first.info, file, tools)
        yield from _SpecificationReader(self.name, description, tool, file.place or (tool,)).read()
        parts.update((file.path.parent / name).resolve() for name in description.parts)


class _Located(NamedTuple):
    """An object of a description, and where it stands."""

    file: Specification
    place: tuple[str, ...]
    value: JsonObject

    @property
    def position(self) -> str:
        return f"{self.file.where}#{pointer(*self.place)}"

    def member(self, key: str) -> Entry:
        """The entry of one of its members."""
        place = (*self.place, key)
        return Entry(f"{self.file.where}#{pointer(*place)}", self.file.text(place, self.value[key]))


def _merged(levels: list[_Located]) -> JsonObject:
    """An object with what its references lead to. What stands in it itself counts first."""
    merged = {key: value for level in reversed(levels) for key, value in level.value.items()}
    inputs = [each for level in levels for each in as_list(level.value.get("parameters"))]
    return {**merged, "parameters": inputs} if inputs else merged


class _SpecificationReader:
    """Yields the operations of one description."""

    def __init__(self, source: str, description: Description, tool: str, place: tuple[str, ...]) -> None:
        self._source = source
        self._description = description
        self._info = description.first.info
        self._tool = tool
        self._place = place
        self._references = description.references
        self._operations = OperationReader(self._references, siblings=description.first.modern)
        self._names: set[str] = set()
        self._told: set[str] = set()
        self._callbacks: list[str] = []
        cure = "ingest a folder that holds both files"
        self._elsewhere = f"not in the folder {description.folder}, so it is not read ({cure})"

    def read(self) -> Iterator[Converted]:
        first = self._description.first
        paths = first.tree.get("paths")
        if paths is not None and not isinstance(paths, dict):
            raise SourceError(first.where, "is not OpenAPI: its paths must be an object")
        levels = self._chain(_Located(first, ("paths",), as_object(paths)))
        if missing := self._missing(levels[-1]):
            yield dead_letter(self._source, Entry(levels[-1].position, b""), missing)
        for level in levels:
            for path, item in level.value.items():
                if not path.startswith("x-") and not (path.startswith("$") and isinstance(item, str)):
                    yield from self._read_path(path, item, level)
        yield from self._calls_of_the_api()
        for file in (first, *self._description.parts.values()):
            yield from lost_values(self._source, file.where, file.repeated)
        yield from self._unread_parts()

    def _calls_of_the_api(self) -> Iterator[Remark]:
        """What the API itself calls, and nobody else can."""
        first = self._description.first
        webhooks = [within(first.where, "webhooks")] * len(as_object(first.tree.get("webhooks")))
        for what, places in (("webhook", webhooks), ("callback", self._callbacks)):
            if count := len(places):
                one = f"1 {what} is no tool: it is a call"
                told = one if count == 1 else f"{count:,} {what}s are no tools: they are calls"
                yield Remark(self._source, places[0], f"{told} that the API itself makes")

    def _unread_parts(self) -> Iterator[DeadLetter]:
        """Files elsewhere, and such as cannot be read, that schemas and the like refer to."""
        unread = dict.fromkeys(self._description.outside, self._elsewhere) | self._description.broken
        for name, why in unread.items():
            if name not in self._told:
                what = f"refers to {name[:_MAX_NAME]}: {why}"
                yield DeadLetter(self._source, self._description.first.where, what)

    def _read_path(self, path: str, item: object, paths: _Located) -> Iterator[Converted]:
        if not isinstance(item, dict):
            yield dead_letter(self._source, paths.member(path), "a path must be an object")
            return
        levels = self._chain(_Located(paths.file, (*paths.place, path), item))
        if missing := self._missing(levels[-1]):
            yield dead_letter(self._source, paths.member(path), missing)
        whole = _merged(levels)
        for level in levels:
            yield from self._read_methods(path, level, whole)

    def _read_methods(self, path: str, level: _Located, whole: JsonObject) -> Iterator[Converted]:
        """The operations that stand in an item itself, beside a reference to others."""
        for key in (key for method in METHODS for key in level.value if key.lower() == method):
            yield from self._operation(path, key, level, whole)
        more = level.value.get("additionalOperations")
        if isinstance(more, dict):
            below = _Located(level.file, (*level.place, "additionalOperations"), more)
            for key in more:
                yield from self._operation(path, key, below, whole)
        elif more is not None:
            yield dead_letter(self._source, level.member("additionalOperations"), "it must be an object")
        for key in level.value:
            if not (key.lower() in METHODS or key in _OTHER_KEYS or key.startswith("x-")):
                what = f"{key[:100]!r} is no method of OpenAPI; other ones belong into additionalOperations"
                yield dead_letter(self._source, level.member(key), what)

    def _operation(self, path: str, method: str, item: _Located, whole: JsonObject) -> Iterator[Converted]:
        operation = item.value[method]
        if not isinstance(operation, dict):
            yield dead_letter(self._source, item.member(method), "an operation must be an object")
            return
        levels = self._chain(_Located(item.file, (*item.place, method), operation))
        if missing := self._missing(levels[-1]):
            yield dead_letter(self._source, item.member(method), missing)
            return
        found = _merged(levels)
        last = levels[-1]
        self._callbacks += [within(last.position, "callbacks")] * len(as_object(found.get("callbacks")))
        entry = Entry(last.position, last.file.text(last.place, last.value))
        whole = with_places(whole, found, path, self._references)
        make = partial(self._document, path=path, method=method, item=whole, operation=found)
        converted = convert_entry(self._source, entry, make)
        if isinstance(converted, ApiDocument):
            yield from self._nameless(last.position, whole, found)
        yield converted

    def _nameless(self, position: str, item: JsonObject, operation: JsonObject) -> Iterator[DeadLetter]:
        """Tells of inputs that are left out."""
        if count := self._operations.nameless(item, operation):
            has = "has" if count == 1 else "have"
            what = f"{count:,} of its parameters {has} no name: what nobody can give is left out"
            yield DeadLetter(self._source, within(position, "parameters"), what)

    def _chain(self, located: _Located) -> list[_Located]:
        """An object and those that its references lead to, one after the other."""
        levels = [located]
        while len(levels) < _MAX_CHAIN and (found := self._references.find(unresolved(levels[-1].value))):
            value, place = found
            if any(level.value is value for level in levels):
                break
            levels.append(_Located(self._description.file(place.file), place.path, value))
        return levels

    def _missing(self, last: _Located) -> str:
        """Why a chain of references ends too early, empty where it does not."""
        reference = unresolved(last.value)
        if not reference:
            return "its $ref is no reference" if "$ref" in last.value else ""
        self._told.add(file := file_of(reference))
        why = self._elsewhere if file in self._description.outside else self._description.broken.get(file, "")
        more = f": {why}" if why else ""
        return f"unresolved reference {reference}{more}"

    def _document(
        self, entry: Entry, path: str, method: str, item: JsonObject, operation: JsonObject
    ) -> ApiDocument:
        call = f"{method.upper()} {path}"
        api = self._unique_name(as_string(operation.get("operationId")), call)
        tags = tuple(tag for tag in as_list(operation.get("tags")) if isinstance(tag, str))
        parameters, inputs = self._operations.inputs(item, operation)
        document = ApiDocument(
            id=document_id(self._source, *self._place, api),
            source=self._source,
            category=_category(self._info, tags),
            tool=self._tool,
            api=api,
            description=_description(item, operation, call if api != call else ""),
            parameters=parameters,
            inputs=inputs,
            returns=self._operations.returns(operation),
            tags=tags,
            version=as_text(self._info.get("version")),
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
    title = as_string(info.get("title")) or service or provider or storable(file.path.stem)
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


Made = TypeVar("Made")
_BODY = "body"
_MAX_LINKS = 100
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI 3 ignores parameters of these names: media types and security are described elsewhere."""


class OperationReader:
    """Reads the operations of one description. Shared parts are converted once.

    Args:
        references: resolves the `$ref`s of the description.
        siblings: whether what stands beside the `$ref` of a schema counts, as since OpenAPI 3.1.
    """

    def __init__(self, references: References, *, siblings: bool = True) -> None:
        self._references = references
        self._schemas = InputSchemas(references.target, siblings=siblings)
        self._bodies: dict[str, tuple[tuple[Parameter, JsonObject], ...]] = {}
        self._results: dict[str, str] = {}
        self._answers: dict[str, tuple[Field, ...]] = {}

    def inputs(self, item: JsonObject, operation: JsonObject) -> tuple[tuple[Parameter, ...], str]:
        """Inputs of an operation: its own parameters before the path's, then the fields of its body.

        An operation's parameter replaces the path's with the same name and location. Of equal names in
        different locations the first stays as it is, and the others say where they belong: `id_in_body`.
        The text is what the parameters do not say, see `ApiDocument.inputs`.
        """
        bodies = self._bodies_of(item, operation)
        placed = [*self._placed(item, operation), *self._body(bodies)]
        named = told_apart((location, found) for location, found, _ in placed)
        whole = self._body_schema(bodies[0]) if bodies else {}
        held = whole if self._properties(whole) else None
        return named, self._schemas.text(zip(named, (schema for *_, schema in placed), strict=True), held)

    def _placed(self, item: JsonObject, operation: JsonObject) -> Iterable[tuple[str, Parameter, JsonObject]]:
        """Each input outside the body with its location and its schema."""
        found: dict[tuple[str, str], tuple[str, Parameter, JsonObject]] = {}
        for target in self._declared(item, operation):
            location, name = as_string(target.get("in")), _parameter_name(target)
            ignored = location == _BODY or (location == "header" and name.lower() in _IGNORED_HEADERS)
            if name and not ignored and (location, name) not in found:
                schema = _parameter_schema(target, self._references)
                found[location, name] = location, self._described(name, schema, target), schema
        return found.values()

    def nameless(self, item: JsonObject, operation: JsonObject) -> int:
        """How many of its parameters have no name, so that nobody can give them."""
        unnamed = (each for each in self._declared(item, operation) if each and not _parameter_name(each))
        return sum(as_string(each.get("in")) != _BODY for each in unnamed)

    def _declared(self, item: JsonObject, operation: JsonObject) -> Iterator[JsonObject]:
        for value in (*as_list(operation.get("parameters")), *as_list(item.get("parameters"))):
            yield self._references.resolve(as_object(value))

    def _bodies_of(self, item: JsonObject, operation: JsonObject) -> list[JsonObject]:
        """The bodies of a request, of which the first counts.

        Swagger 2 allows one: that of the operation, else of its path. Some descriptions have several.
        """
        bodies = [self._references.resolve(as_object(operation.get("requestBody")))]
        for level in (operation, item):
            found = [each for each in self._declared({}, level) if as_string(each.get("in")) == _BODY]
            if found:
                bodies += list({as_string(each.get("name")): each for each in reversed(found)}.values())[::-1]
                break
        return list(filter(None, bodies))

    def returns(self, operation: JsonObject) -> str:
        """Description of the first successful response, with the names of its fields."""
        response = self._response(operation)
        fields = self._fields(_response_schema(response, self._references))
        return clip(": ".join(filter(None, (as_string(response.get("description")), fields))), MAX_RETURNS)

    def answer(self, operation: JsonObject) -> tuple[Field, ...] | None:
        """Identifiers in the first successful response, None where no schema describes them."""
        schema = _response_schema(self._response(operation), self._references)
        if not schema:
            return None
        return _once(self._answers, schema, lambda: tuple(schema_fields(schema, self._references)))

    def linked(self, operation: JsonObject) -> Iterator[str]:
        """Inputs of other operations that the response's `links` fill from it."""
        for link in list(as_object(self._response(operation).get("links")).values())[:_MAX_LINKS]:
            found = self._references.resolve(as_object(link))
            yield from list(as_object(found.get("parameters")))[:_MAX_LINKS]

    def _response(self, operation: JsonObject) -> JsonObject:
        responses = as_object(operation.get("responses"))
        codes = [*sorted(code for code in responses if code.startswith("2")), "default"]
        success = next((responses[code] for code in codes if code in responses), None)
        return self._references.resolve(as_object(success))

    def _body_schema(self, body: JsonObject) -> JsonObject:
        return _content_schema(body, self._references) or as_object(body.get("schema")) or body

    def _body(self, bodies: Sequence[JsonObject]) -> list[tuple[str, Parameter, JsonObject]]:
        """The properties of the first body's schemas, or itself where it is no object; then the others."""
        if not bodies:
            return []
        body, schema = bodies[0], self._body_schema(bodies[0])
        further = [(_BODY, *self._whole(each)) for each in bodies[1:]]
        if fields := self._properties(schema):
            others = self._only_elsewhere(body, {each.name for each, _ in fields})
            return [*((_BODY, each, inner) for each, inner in (*fields, *others)), *further]
        return [(_BODY, self._described(_BODY, schema, body), schema), *further]

    def _whole(self, body: JsonObject) -> tuple[Parameter, JsonObject]:
        """A body as one input, under the name that Swagger 2 gives it."""
        schema = as_object(body.get("schema"))
        return self._described(_parameter_name(body) or _BODY, schema, body), schema

    def _only_elsewhere(self, body: JsonObject, known: set[str]) -> Iterator[tuple[Parameter, JsonObject]]:
        """Fields that only further media types of the body have, all of them optional."""
        for media in as_object(body.get("content")).values():
            for each, inner in self._properties(_media_schema(media, self._references)):
                if each.name not in known:
                    known.add(each.name)
                    yield msgspec.structs.replace(each, required=False), inner

    def _properties(self, schema: JsonObject) -> tuple[tuple[Parameter, JsonObject], ...]:
        if len(schema) > 1:
            return self._fields_of(schema)
        return _once(self._bodies, schema, lambda: self._fields_of(schema))

    def _fields_of(self, schema: JsonObject) -> tuple[tuple[Parameter, JsonObject], ...]:
        inner = property_schemas(schema, self._references)
        return tuple((each, inner[each.name]) for each in parameters(schema, self._references))

    def _described(self, name: str, schema: JsonObject, owner: JsonObject) -> Parameter:
        """A parameter of a schema, whose owner may describe it better."""
        if description := as_string(owner.get("description")):
            schema = {**schema, "description": description}
        return parameter(name, schema, owner.get("required") is True, self._references)

    def _fields(self, schema: JsonObject) -> str:
        names = partial(property_names, schema, self._references)
        return _once(self._results, schema, lambda: clip(", ".join(names()), MAX_RETURNS))


def _once(known: dict[str, Made], schema: JsonObject, make: Callable[[], Made]) -> Made:
    """What is made of a schema, once for each reference."""
    reference = unresolved(schema)
    if not reference:
        return make()
    if reference not in known:
        known[reference] = make()
    return known[reference]


_PARAMETER_KEYS = frozenset(
    {"name", "in", "required", "style", "explode", "allowReserved", "allowEmptyValue"}
)


def _parameter_schema(target: JsonObject, references: References) -> JsonObject:
    """The schema of a parameter. In Swagger 2 it is the parameter itself."""
    schema = as_object(target.get("schema")) or _content_schema(target, references)
    return schema or {key: value for key, value in target.items() if key not in _PARAMETER_KEYS}


def _parameter_name(target: JsonObject) -> str:
    """The name of a parameter; of an unresolved one, the name of its reference."""
    if missing := unresolved(target):
        return (segments(missing) or (missing,))[-1]
    return as_text(target.get("name"))  # YAML reads `name: 7` as a number


def _response_schema(response: JsonObject, references: References) -> JsonObject:
    return as_object(_content_schema(response, references) or response.get("schema"))


def _content_schema(value: JsonObject, references: References) -> JsonObject:
    """The schema of the most informative media type: JSON first."""
    content = as_object(value.get("content"))
    media: Any = next((content[kind] for kind in content if "json" in kind), None)
    return _media_schema(media or next(iter(content.values()), None), references)


def _media_schema(media: object, references: References) -> JsonObject:
    """The schema of a media type, which is a reference or a sequence of items since OpenAPI 3.2."""
    found = references.resolve(as_object(media))
    schema = as_object(found.get("schema"))
    items = as_object(found.get("itemSchema"))
    return {"type": "array", "items": items} if items and not schema else schema
