"""A labelled catalog, which every reader of a data set yields: documents, and requests with known answers.

`labelled` makes a judged dataset of one.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_evaluation.dataset import Dataset, JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_ingest.source import DeadLetter

Form = Literal["natural", "clause"]


class MissingData(EvaluationError):
    """A missing data file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"no data at {path}: pass the folder that holds it")


class BrokenRecord(EvaluationError):
    """A line that is not a valid record."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path.name}, line {line}: {reason}: repair or remove the line")


class UnknownDocument(EvaluationError):
    """A label names a document that is not in the catalog."""

    def __init__(self, catalog: str, document_id: str) -> None:
        super().__init__(f"{catalog}: a request names the unknown document {document_id[:200]!r}")


class LabelledRequest(msgspec.Struct, frozen=True):
    """A request and the ids of the documents that answer it.

    A `natural` request is used as it stands. A `clause` ("get the weather") is raw material that
    `styles` turns into a request, alone or joined with others.
    """

    text: str
    relevant: tuple[str, ...]
    offered: tuple[str, ...] = ()
    """Nearly right documents that were shown together with the right ones: natural hard negatives."""
    form: Form = "natural"
    also: tuple[str, ...] = ()
    """Documents that would answer as fairly: neither right nor wrong, so nothing is learned from them."""


class LabelledCatalog(msgspec.Struct, frozen=True):
    """Documents and requests of one data set.

    `groups` maps a document id to what is held out as a whole (a provider, a field, a command), `titles` to
    a short text that says the same as the document: two documents of equal title answer the same request.
    """

    name: str
    licence: str
    documents: dict[str, ApiDocument]
    groups: dict[str, str]
    titles: dict[str, str]
    requests: tuple[LabelledRequest, ...]
    judged: bool = True
    """Whether `also` names all that answer as fairly; without, what was not offered is in doubt."""

    def __post_init__(self) -> None:
        """Refuses labels without a document.

        Raises:
            UnknownDocument: a label names an id that is not in `documents`.
        """
        for request in self.requests:
            for named in (*request.relevant, *request.offered, *request.also):
                if named not in self.documents:
                    raise UnknownDocument(self.name, named)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a `.jsonl` or `.jsonl.gz` file, one a line; empty lines are skipped.

    Raises:
        MissingData: no such file.
        BrokenRecord: a line that is not a JSON object.
    """
    if not path.is_file():
        raise MissingData(path)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _record(path, number, line)


def write_records(path: Path, records: Iterable[msgspec.Struct]) -> None:
    """Writes a `.jsonl.gz` file, a line each; equal records give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(msgspec.json.encode(each) + b"\n" for each in records)
    path.write_bytes(gzip.compress(lines, mtime=0))


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BrokenRecord(path, number, f"not JSON ({error})") from error
    if not isinstance(record, dict):
        raise BrokenRecord(path, number, "not a JSON object")
    return record


class CatalogSource:
    """The documents of a labelled catalog as a source, in the order of their ids."""

    def __init__(self, catalog: LabelledCatalog) -> None:
        self.name = catalog.name
        self._documents = catalog.documents

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """Every document, its id made of the source's name and the one it has in the catalog."""
        for key in sorted(self._documents):
            yield msgspec.structs.replace(self._documents[key], id=document_id(self.name, key))


def labelled(catalog: LabelledCatalog) -> Dataset:
    """Requests in two subsets: `single` needs one tool, `multi` several."""
    queries = tuple(
        JudgedQuery(
            f"{catalog.name}-{number}",
            request.text,
            frozenset(document_id(catalog.name, relevant) for relevant in request.relevant),
            _subset(catalog, request.relevant),
        )
        for number, request in enumerate(catalog.requests)
    )
    return Dataset(catalog.name, CatalogSource(catalog), queries)


def _subset(catalog: LabelledCatalog, relevant: tuple[str, ...]) -> str:
    return "single" if len({catalog.documents[id_].tool_key for id_ in relevant}) == 1 else "multi"
