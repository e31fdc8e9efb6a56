"""ToolRet (Shi et al. 2025): requests over tools of many older benchmarks, with and without an instruction.

The folder holds the published records as JSON lines: `tools.jsonl` or `tools/*.jsonl` with `id` and `doc` (or
`documentation`), `queries.jsonl` or `queries/*.jsonl` with `id`, `query`, `instruction`, `labels` and
`category`. Any subset of either may be there: a request whose tools are absent is an error. `doc` and
`labels` are JSON, or JSON in a string, as published.

The protocol: NDCG@10 of each category (`web`, `code`, `customized`), and their mean. An instruction
says what capability is wanted; it stands before the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_evaluation.dataset import Dataset, JudgedQuery
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.json_lines import read_json_lines
from kitpick_foundation.decoding import UNDECODABLE, convert_to
from kitpick_ingest.json_values import as_string
from kitpick_ingest.source import DeadLetter

_CATEGORIES = ("category_name", "domain")
_NAMES = ("api_name", "name", "func_name", "title", "api_call")
_TOOLS = ("tool_name", "app_name", "api", "functionality")
_DESCRIPTIONS = ("api_description", "description", "func_description", "desc")
_PARAMETERS = {
    "required_parameters": True,
    "optional_parameters": False,
    "parameters": False,
    "inputs": False,
}
"""Where parameters stand in one of the published forms → whether those there are required."""
_LONGEST_NAME = 200


class _ToolRetTool(msgspec.Struct, frozen=True):
    id: str
    doc: Any = ""
    documentation: Any = ""


class _ToolRetQuery(msgspec.Struct, frozen=True):
    id: str
    query: str
    labels: Any
    instruction: str = ""
    category: str = ""


class ToolRetSource:
    """The tools of a ToolRet folder as documents."""

    name = "toolret"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """Every tool once, in the order of the files."""
        for path in _files(self._folder, "tools"):
            for tool in read_json_lines(path, _ToolRetTool):
                yield read_tool(self.name, tool.id, _parsed(tool.doc or tool.documentation))


def toolret(folder: Path, *, instructed: bool) -> Dataset:
    """The judged requests of a folder, in subsets by category, or by file where no category is given.

    If it is `instructed`, a request begins with its instruction.

    Raises:
        InvalidDataset: a file is missing or broken.
    """
    source = ToolRetSource(folder)
    queries = tuple(
        JudgedQuery(
            query.id,
            f"{query.instruction}\n{query.query}".strip() if instructed else query.query,
            frozenset(document_id(source.name, label) for label in _labels(path, query)),
            query.category or path.stem,
        )
        for path in _files(folder, "queries")
        for query in read_json_lines(path, _ToolRetQuery)
    )
    return Dataset(source.name, source, queries)


def read_tool(source: str, key: str, doc: object) -> ApiDocument:
    """One tool as a document. Without any of the known fields, its whole text is the description."""
    record = doc if isinstance(doc, dict) else {}
    api = _first(record, _NAMES)[:_LONGEST_NAME] or key
    return ApiDocument(
        id=document_id(source, key),
        source=source,
        category=_first(record, _CATEGORIES)[:_LONGEST_NAME],
        tool=_first(record, _TOOLS)[:_LONGEST_NAME] or api,
        api=api,
        description=_first(record, _DESCRIPTIONS) or (doc if isinstance(doc, str) else ""),
        parameters=tuple(_parameters(record)),
    )


def _files(folder: Path, kind: str) -> list[Path]:
    single = folder / f"{kind}.jsonl"
    found = [single] if single.is_file() else sorted((folder / kind).glob("*.jsonl"))
    if not found:
        raise InvalidDataset(
            f"{folder}: neither {kind}.jsonl nor {kind}/*.jsonl is there: export the dataset as JSON lines"
        )
    return found


def _labels(path: Path, query: _ToolRetQuery) -> list[str]:
    try:
        labels = convert_to(_parsed(query.labels), list[dict[str, Any]])
        return [str(label["id"]) for label in labels if label.get("relevance", 1) > 0]
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise InvalidDataset(
            f"{path}: query {query.id!r}: labels are no list of {{id, relevance}}"
        ) from error


def _parameters(record: dict[str, Any]) -> Iterator[Parameter]:
    for field, required in _PARAMETERS.items():
        held = record.get(field)
        if isinstance(held, dict) and isinstance(held.get("properties"), dict):
            held = held["properties"]
        for name, each in _named(held):
            if name:
                yield Parameter(
                    name[:_LONGEST_NAME],
                    as_string(_field(each, "type")),
                    required,
                    as_string(_field(each, "description")) or as_string(each),
                )


def _named(held: object) -> Iterator[tuple[str, object]]:
    if isinstance(held, dict):
        yield from held.items()
    elif isinstance(held, list):
        yield from ((as_string(_field(each, "name")), each) for each in held)


def _parsed(value: object) -> object:
    """The value of a string of JSON; any other text unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except UNDECODABLE:
        return value


def _first(record: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := as_string(record.get(name)))), "")


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
