"""Whatever a file holds, a reader answers with valid documents, dead letters or a SourceError."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_engines.document import ApiDocument, validate_document
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter, Source
from kitpick_ingest.sources.agent_cards import AgentCardsSource
from kitpick_ingest.sources.beir import BeirSource
from kitpick_ingest.sources.documents_jsonl import DocumentsSource
from kitpick_ingest.sources.function_schemas import FunctionSchemasSource
from kitpick_ingest.sources.mcp_dump import McpDumpSource
from kitpick_ingest.sources.mcp_registry import McpRegistrySource
from kitpick_ingest.sources.toolbench import ToolBenchSource

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
GOOD: dict[Callable[[Path], Source], dict[str, object]] = {
    BeirSource: {"_id": "1", "title": "t", "text": "some text"},
    DocumentsSource: {"id": "s/t/a", "source": "s", "category": "c", "tool": "t", "api": "a", "tags": ["x"]},
    FunctionSchemasSource: {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA},
    McpRegistrySource: {"name": "a/b", "description": "d", "version": "1", "remotes": []},
    AgentCardsSource: {"name": "n", "capabilities": {}, "skills": [{"id": "s", "name": "f", "tags": ["x"]}]},
    McpDumpSource: {"name": "t", "description": "d", "inputSchema": SCHEMA, "annotations": {"title": "T"}},
    ToolBenchSource: {
        "category_name": "c",
        "tool_name": "t",
        "api_name": "a",
        "api_description": "d",
        "required_parameters": [{"name": "q", "type": "STRING"}],
        "method": "GET",
    },
}
"""Each reader with a record that becomes a document."""

OTHER_KEYS = [
    "function",
    "input_schema",
    "tools",
    "result",
    "properties",
    "required",
    "items",
    "$ref",
    "anyOf",
]
OTHER_KEYS += [
    "allOf",
    "enum",
    "functionDeclarations",
    "readOnlyHint",
    "outputSchema",
    "nextCursor",
    "api_list",
]
KEYS = st.sampled_from(sorted({*OTHER_KEYS, *(key for record in GOOD.values() for key in record)}))
TEXT = st.text(max_size=8) | st.sampled_from(
    ["object", "string", "#", "#/properties/name", "\0", "\ud800", " ", "function", "GET", "https://e.x/#/a"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT


def containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=6)


VALUES = st.recursive(SCALARS, containers, max_leaves=30)


@pytest.fixture(scope="module", params=[".json", ".jsonl"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / f"input{request.param}"


def read(source: Source) -> list[ApiDocument | DeadLetter]:
    try:
        items = list(source.read())
    except SourceError:
        return []
    for item in items:
        if isinstance(item, DeadLetter):
            assert item.reason
            assert item.position
            assert len(item.excerpt) <= MAX_EXCERPT
        else:
            assert validate_document(item).source == source.name
    return items


each_reader = pytest.mark.parametrize("reader", GOOD, ids=lambda reader: reader.__name__)


@each_reader
def test_the_good_record_becomes_a_document(reader: Callable[[Path], Source], file: Path) -> None:
    file.write_text(json.dumps(GOOD[reader]), encoding="utf-8")
    assert [type(item) for item in read(reader(file))] == [ApiDocument]


@each_reader
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=VALUES)
@example(value={"tools": {"a": None, "b": {"tools": [1]}}})
@example(value={"api_list": [{"name": "\0"}, {"name": ""}, {"name": "a", "required_parameters": [{}]}]})
def test_any_json_value(reader: Callable[[Path], Source], file: Path, value: object) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")
    read(reader(file))
    file.write_text(json.dumps([value, value]), encoding="utf-8")
    read(reader(file))


@each_reader
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=st.dictionaries(KEYS, VALUES, min_size=1, max_size=3))
@example(changes={"inputSchema": {"$ref": "#"}, "parameters": {"$ref": "#/parameters"}})
@example(changes={"name": "\ud800", "tool_name": "\ud800", "api": "\ud800", "_id": "\ud800"})
def test_a_record_with_any_field_changed(
    reader: Callable[[Path], Source], file: Path, changes: dict[str, object]
) -> None:
    lines = [json.dumps(GOOD[reader] | changes), json.dumps(GOOD[reader])]
    if file.suffix == ".json":
        file.write_text(f"[{', '.join(lines)}]", encoding="utf-8")
    else:
        file.write_text("\n".join(lines), encoding="utf-8")
    items = read(reader(file))
    if items:
        assert isinstance(items[-1], ApiDocument), "the good record survives its neighbour"


@each_reader
@settings(max_examples=examples(80), deadline=None)
@given(data=st.binary(max_size=60))
@example(data=b'{"name": "\xff"}')
@example(data=b"\xef\xbb\xbf{}")
@example(data=b"[" * 5000)
@example(data=b'{"_id": "1", "text": ' + b"[" * 5000 + b"]" * 5000 + b"}\n{}\n")
@example(data=b'{"name": "\\ud800"}\n{"name": "\\udc00\\ud800"}\n')
@example(data=b'[{"name": "\\ud800", "parameters": {}}, {"name": "ok", "parameters": {}}]')
def test_any_bytes(reader: Callable[[Path], Source], file: Path, data: bytes) -> None:
    file.write_bytes(data)
    read(reader(file))
