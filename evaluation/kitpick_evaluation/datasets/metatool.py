"""MetaTool: requests for 199 plugins; 497 of the requests need two of them."""

from __future__ import annotations

from pathlib import Path

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.datasets.records import LabelledCatalog, LabelledRequest, read_records

LICENCE = "MIT"


def read_metatool(folder: Path) -> LabelledCatalog:
    """Plugins and requests; each plugin is a group of its own.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    documents = {
        record["tool"]: ApiDocument(
            id=record["tool"],
            source="metatool",
            category="",
            tool=record["tool"],
            api=record["tool"],
            description=record["description"],
        )
        for record in read_records(folder / "tools.jsonl")
    }
    requests = tuple(
        LabelledRequest(record["query"], tuple(record["tools"]))
        for record in read_records(folder / "queries.jsonl")
    )
    titles = {i: d.description for i, d in documents.items()}
    return LabelledCatalog("metatool", LICENCE, documents, {i: i for i in documents}, titles, requests)
