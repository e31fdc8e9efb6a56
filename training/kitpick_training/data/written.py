"""Requests written by hand for real operations and MCP tools, in six styles, and the operations they name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.decoding import convert_to
from kitpick_ingest.effects import effect_of_method
from kitpick_training.data.records import BrokenRecord, MissingData, read_records

MCP = "toucan"
"""The source of the tools of MCP servers; all others are of REST APIs and cloud services."""
Record = TypeVar("Record")

STYLES = {
    "A": "short order",
    "B": "conversation with entities",
    "C": "narrative",
    "D": "indirect",
    "E": "an agent's sub-goal",
    "F": "colloquial",
}


class Operation(NamedTuple):
    """Identity of an operation, the same in every folder and in the full lists."""

    source: str
    """`openapi`, `botocore`, `google` or `toucan`."""
    provider: str
    service: str
    """botocore's name of the service, a discovery document's file name, often empty."""
    tool: str
    api: str

    def id_in(self, source: str) -> str:
        """Id of its document in a catalog where this source owns it."""
        return document_id(source, *self)

    @property
    def group(self) -> str:
        """The group that is held out as a whole: a provider, or a service of the two largest providers."""
        if self.provider in ("aws", "google"):
            return f"{self.provider} {self.service.split('.')[0]}"
        return self.provider


class WrittenApi(msgspec.Struct, frozen=True):
    """A line of `apis.jsonl.gz`. `id` counts within its folder."""

    id: int
    source: str
    category: str
    provider: str
    service: str
    tool: str
    api: str
    method: str
    path: str
    description: str
    parameters: tuple[str, ...]

    @property
    def operation(self) -> Operation:
        """Its identity."""
        return Operation(self.source, self.provider, self.service, self.tool, self.api)

    def document(self, source: str) -> ApiDocument:
        """The document that the line alone gives, owned by a source."""
        return ApiDocument(
            id=self.operation.id_in(source),
            source=source,
            category=self.category,
            tool=self.tool,
            api=self.api,
            description=self.description,
            parameters=tuple(Parameter(name=name) for name in self.parameters),
            effect=effect_of_method(self.method),
        )


class WrittenRequest(msgspec.Struct, frozen=True):
    """A request with the operations that it needs."""

    id: str
    text: str
    style: str
    """A key of `STYLES`."""
    relevant: tuple[WrittenApi, ...]
    also: tuple[WrittenApi, ...]
    """Would answer as fairly: neither right nor wrong."""


class _Line(msgspec.Struct):
    request: str
    style: str
    relevant: tuple[int, ...]
    also: tuple[int, ...] = ()


def present_folders(folders: Iterable[Path]) -> list[Path]:
    """Those of the folders that are there, each once, in their order.

    Raises:
        MissingData: none is.
    """
    named = list(folders)
    present = list(dict.fromkeys(folder.resolve() for folder in named if folder.is_dir()))
    if not present:
        raise MissingData(named[-1])
    return present


def read_written(folder: Path) -> tuple[WrittenRequest, ...]:
    """The requests of a folder with `apis.jsonl.gz` and `requests.jsonl.gz`, their ids `FOLDER-LINE`.

    Raises:
        MissingData, BrokenRecord: a file is absent or cannot be read.
        InvalidDataset: a request names an operation that the folder lacks.
    """
    apis = {api.id: api for api in read_apis(folder)}
    requests = []
    for number, line in enumerate(read_typed(folder / "requests.jsonl.gz", _Line), start=1):
        unknown = [i for i in (*line.relevant, *line.also) if i not in apis]
        if unknown or not line.relevant:
            what = f"names the unknown operation {unknown[0]}" if unknown else "needs no operation"
            raise InvalidDataset(f"{folder}: request {number} {what}")
        requests.append(
            WrittenRequest(
                f"{folder.name}-{number}",
                line.request,
                line.style,
                tuple(apis[i] for i in dict.fromkeys(line.relevant)),
                tuple(apis[i] for i in dict.fromkeys(line.also)),
            )
        )
    return tuple(requests)


def read_apis(folder: Path) -> tuple[WrittenApi, ...]:
    """All operations of a folder, with or without a request.

    Raises:
        MissingData, BrokenRecord: `apis.jsonl.gz` is absent or cannot be read.
    """
    return tuple(read_typed(folder / "apis.jsonl.gz", WrittenApi))


def read_typed(path: Path, kind: type[Record]) -> list[Record]:
    """The lines of a file as values of a type.

    Raises:
        MissingData, BrokenRecord: the file is absent, or a line is not of the type.
    """
    return [
        _converted(path, number, record, kind) for number, record in enumerate(read_records(path), start=1)
    ]


def _converted(path: Path, number: int, record: dict[str, Any], kind: type[Record]) -> Record:
    try:
        return convert_to(record, kind)
    except msgspec.ValidationError as error:
        raise BrokenRecord(path, number, str(error)) from error
