"""ToolLinkOS: functions of a phone and a desktop, requests with the main function and those it depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_training.data.records import LabelledCatalog, LabelledRequest, read_records

LICENCE = "MIT"
_TOOLS = ("core_tools.jsonl.gz", "regular_tools.jsonl.gz")


def read_toollinkos(folder: Path) -> LabelledCatalog:
    """Functions and requests; relevant are the main function, first, and the functions it depends on.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    documents = {
        record["name"]: _document(record) for name in _TOOLS for record in read_records(folder / name)
    }
    requests = tuple(
        LabelledRequest(record["user_query"], _needed(record))
        for record in read_records(folder / "instances.jsonl.gz")
    )
    groups = {name: name for name in documents}
    titles = {name: f"{name} {document.description}" for name, document in documents.items()}
    return LabelledCatalog("toollinkos", LICENCE, documents, groups, titles, requests)


def _needed(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([record["main_golden_function_name"], *record["golden_function_names"]]))


def _document(record: dict[str, Any]) -> ApiDocument:
    return ApiDocument(
        id=record["name"],
        source="toollinkos",
        category="",
        tool=record["name"],
        api=record["name"],
        description=record["description"],
        parameters=tuple(
            Parameter(
                p["name"], str(p.get("type") or ""), bool(p.get("required")), p.get("description") or ""
            )
            for p in record["parameters"]
        ),
    )
