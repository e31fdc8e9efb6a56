"""Operations of OpenAPI 3.0 and 3.1 and Swagger 2 descriptions, in JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kitpick_engines.document import ApiDocument, document_id
from kitpick_ingest.chains import with_chains
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import BadEntry, Converted, as_text, convert_entry, dead_letter
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import Entry
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
from kitpick_ingest.parts import FoundFile, find_files, read_parts
from kitpick_ingest.source_names import default_name
from kitpick_ingest.sources.openapi_file import Specification, load_specification
from kitpick_ingest.sources.openapi_operation import OperationReader
from kitpick_ingest.unchanged import file_fingerprint

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
        return with_chains(document, answer, path, linked=linked)

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
