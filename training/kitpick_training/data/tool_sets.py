"""MetaTool, Seal-Tools and BFCL: all three teach models, so none is an unseen benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_training.data.records import LabelledCatalog, LabelledRequest, read_records

METATOOL_LICENCE = "MIT"


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
    return LabelledCatalog(
        "metatool", METATOOL_LICENCE, documents, {i: i for i in documents}, titles, requests
    )


SEALTOOLS_LICENCE = "Apache-2.0"


def read_sealtools(folder: Path) -> LabelledCatalog:
    """Tools and requests; the tools of a two-level field are held out together.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    records = list(read_records(folder / "tools.jsonl"))
    documents = {record["api_name"]: _document(record) for record in records}
    groups = {record["api_name"]: record["field"] for record in records}
    requests = tuple(
        LabelledRequest(record["query"], called_tools(record))
        for record in read_records(folder / "dev.jsonl")
    )
    titles = {i: d.description for i, d in documents.items()}
    return LabelledCatalog("sealtools", SEALTOOLS_LICENCE, documents, groups, titles, requests)


def called_tools(record: dict[str, Any]) -> tuple[str, ...]:
    """Distinct tools that a request calls, in order."""
    return tuple(dict.fromkeys(call["api"] for call in record["calling"]))


def _document(record: dict[str, Any]) -> ApiDocument:
    required = set(record["required"])
    category, _, tool = record["field"].rpartition("/")
    return ApiDocument(
        id=record["api_name"],
        source="sealtools",
        category=category,
        tool=tool,
        api=record["api_name"],
        description=record["api_description"],
        parameters=tuple(
            Parameter(name, p.get("type", ""), name in required, p.get("description", ""))
            for name, p in record["parameters"].items()
        ),
    )


BFCL_LICENCE = "Apache-2.0"


def read_bfcl(folder: Path) -> LabelledCatalog:
    """Functions and requests; functions of one name are held out together.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    documents = {record["id"]: _function(record) for record in read_records(folder / "tools.jsonl")}
    requests = tuple(
        LabelledRequest(record["query"], tuple(dict.fromkeys(record["relevant"])), _others(record))
        for record in read_records(folder / "queries.jsonl")
    )
    groups = {i: d.api for i, d in documents.items()}
    titles = {i: f"{d.api} {d.description}" for i, d in documents.items()}
    return LabelledCatalog("bfcl", BFCL_LICENCE, documents, groups, titles, requests)


def _others(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(i for i in record["offered"] if i not in set(record["relevant"]))


def _function(record: dict[str, Any]) -> ApiDocument:
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
