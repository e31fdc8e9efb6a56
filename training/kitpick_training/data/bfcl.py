"""Requests of the Berkeley Function Calling Leaderboard with the functions that were offered for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_training.data.records import LabelledCatalog, LabelledRequest, read_records

LICENCE = "Apache-2.0"


def read_bfcl(folder: Path) -> LabelledCatalog:
    """Functions and requests; functions of one name are held out together.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    documents = {record["id"]: _document(record) for record in read_records(folder / "tools.jsonl")}
    requests = tuple(
        LabelledRequest(record["query"], tuple(dict.fromkeys(record["relevant"])), _others(record))
        for record in read_records(folder / "queries.jsonl")
    )
    groups = {i: d.api for i, d in documents.items()}
    titles = {i: f"{d.api} {d.description}" for i, d in documents.items()}
    return LabelledCatalog("bfcl", LICENCE, documents, groups, titles, requests)


def _others(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(i for i in record["offered"] if i not in set(record["relevant"]))


def _document(record: dict[str, Any]) -> ApiDocument:
    namespace, _, name = record["api"].rpartition(".")
    return ApiDocument(
        id=record["id"],
        source="bfcl",
        category="",
        tool=namespace or name,
        api=name,
        description=record["description"] or "",
        parameters=tuple(
            Parameter(name=p["name"], required=bool(p["required"]), description=p["description"] or "")
            for p in record["parameters"]
        ),
    )
