"""ToolBench: RapidAPI endpoints, and test requests whose answers are (category, tool, api) triples."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kitpick_engines.document import document_id
from kitpick_evaluation.dataset import Dataset, JudgedQuery
from kitpick_evaluation.json_lines import read_json_lines
from kitpick_ingest.opening import open_source

NAME = "toolbench"


class _ToolBenchQuery(msgspec.Struct):
    id: str
    query: str
    relevant: list[tuple[str, str, str]]
    subset: str


def toolbench(folder: Path) -> Dataset:
    """The development requests over every endpoint.

    Raises:
        InvalidDataset: a file is missing or broken.
    """
    return Dataset(
        NAME,
        open_source(f"toolbench:{folder / 'apis.jsonl'}", name=NAME),
        judged_requests(folder / "queries_dev.jsonl"),
    )


def judged_requests(path: Path) -> tuple[JudgedQuery, ...]:
    """The requests of one file.

    Raises:
        InvalidDataset: it is missing or broken.
    """
    return tuple(_judged(query) for query in read_json_lines(path, _ToolBenchQuery))


def _judged(query: _ToolBenchQuery) -> JudgedQuery:
    relevant = frozenset(document_id(NAME, *triple) for triple in query.relevant)
    return JudgedQuery(query.id, query.query, relevant, query.subset)
