"""What every reader yields: a catalog of documents with requests whose answers are known."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from toolrank_engines.document import ApiDocument
from toolrank_evaluation.training_sets.errors import BrokenRecord, MissingData, UnknownDocument

Form = Literal["natural", "clause"]


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

    def __post_init__(self) -> None:
        """Refuses labels that point nowhere.

        Raises:
            UnknownDocument: a relevant or offered id is not in `documents`.
        """
        for request in self.requests:
            for document_id in (*request.relevant, *request.offered):
                if document_id not in self.documents:
                    raise UnknownDocument(self.name, document_id)


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


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BrokenRecord(path, number, f"not JSON ({error})") from error
    if not isinstance(record, dict):
        raise BrokenRecord(path, number, "not a JSON object")
    return record
