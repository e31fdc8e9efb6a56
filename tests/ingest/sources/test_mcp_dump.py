"""Saved answers to `tools/list`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.mcp_dump import McpDumpSource

FIND = {
    "name": "find",
    "description": "Finds notes.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": "words"},
            "n": {"anyOf": [{"type": "integer"}]},
        },
        "required": ["q"],
    },
    "outputSchema": {"type": "object"},
    "annotations": {"title": "Find", "readOnlyHint": True, "destructiveHint": None},
}
DROP = {"name": "drop", "title": "Drop notes", "inputSchema": {"type": "object"}, "annotations": None}


def read(path: Path, content: object) -> list[ApiDocument | DeadLetter]:
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return list(McpDumpSource(path, "notes").read())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dump.json"


@pytest.mark.parametrize(
    ("wrap", "pointer"),
    [
        (lambda tools: {"tools": tools}, "/tools/1"),
        (lambda tools: {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}, "/result/tools/1"),
        (lambda tools: tools, "/1"),
    ],
    ids=["a listing", "a JSON-RPC answer", "an array of tools"],
)
def test_a_dump_of_one_server(path: Path, wrap: object, pointer: str) -> None:
    assert callable(wrap)
    find, broken, drop = read(path, wrap([FIND, {"inputSchema": {}}, DROP]))
    assert isinstance(find, ApiDocument)
    assert (find.id, find.tool, find.effect) == ("notes/notes/find", "notes", Effect.READ)
    assert find.parameters == (
        Parameter("q", "string", required=True, description="words"),
        Parameter("n", "integer"),
    )
    assert find.returns == '{"type":"object"}'
    assert isinstance(drop, ApiDocument)
    assert (drop.description, drop.effect) == ("Drop notes", Effect.UNKNOWN)
    assert isinstance(broken, DeadLetter)
    assert (broken.position, broken.reason) == (f"{path}#{pointer}", "Object missing required field `name`")


def test_the_definition_is_the_tool_byte_for_byte(path: Path) -> None:
    text = '{ "inputSchema" : {"type":"object", "x": 1.50e1},\n "name":"t\\u00e4st" }'
    (document,) = read(path, f'{{"tools": [ {text} ]}}')
    assert isinstance(document, ApiDocument)
    assert document.definition == text
    assert document.api == "täst"


def test_a_registry_yields_category_server_and_version(path: Path) -> None:
    entry = {"name": "Notes MCP", "category": "Office", "tools": {"n/1": {"version": "2", "tools": [FIND]}}}
    (document,) = read(path, [entry])
    assert isinstance(document, ApiDocument)
    assert (document.id, document.category, document.version) == ("notes/Notes MCP/find", "Office", "2")


def test_several_servers_of_a_registry_entry_are_tools_of_their_own(path: Path) -> None:
    servers = {"a": {"tools": [FIND]}, "b": {"tools": [FIND, 7]}}
    *documents, letter = read(path, [{"name": "Suite", "tools": servers}])
    assert [document.tool for document in documents if isinstance(document, ApiDocument)] == ["a", "b"]
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{path}#/0/tools/b/tools/1"


def test_pages_are_read_one_a_line(tmp_path: Path) -> None:
    pages = [{"tools": [FIND], "nextCursor": "2"}, {"tools": [DROP]}]
    items = read(tmp_path / "pages.jsonl", "\n".join(json.dumps(page) for page in pages))
    assert [getattr(item, "api", item) for item in items] == ["find", "drop"]


def test_a_dump_that_ends_before_the_last_page_stops_the_source(path: Path) -> None:
    with pytest.raises(SourceError, match="nextCursor"):
        read(path, {"tools": [FIND], "nextCursor": "2"})


def test_a_server_of_a_registry_without_its_last_page_is_named_whatever_follows(path: Path) -> None:
    servers = {"a": {"tools": [FIND], "nextCursor": "2"}, "b": {"tools": [FIND]}}
    items = read(
        path, [{"name": "Suite", "tools": servers}, {"name": "Other", "tools": {"c": {"tools": []}}}]
    )
    (letter,) = [item for item in items if isinstance(item, DeadLetter)]
    assert letter.position == f"{path}#/0/tools/a"
    assert "nextCursor" in letter.reason


def test_something_else_is_a_dead_letter(path: Path) -> None:
    (letter,) = read(path, {"hello": 1})
    assert isinstance(letter, DeadLetter)
    assert letter.reason == "neither a tool with inputSchema nor a list of tools"


def test_all_real_servers(shared_data: Path) -> None:
    file = shared_data / "livemcp" / "servers.json"
    documents = [item for item in McpDumpSource(file, "livemcp").read() if isinstance(item, ApiDocument)]
    assert len({document.id for document in documents}) == 527
    assert len({document.tool for document in documents}) == 70
    assert sum(document.effect is Effect.READ for document in documents) == 44
    text = file.read_text(encoding="utf-8")
    assert all(document.definition in text for document in documents)


TOOL = {"name": "a", "inputSchema": {"type": "object"}}
SAYS = "Finds notes of a logbook."


@pytest.mark.parametrize(
    "records",
    [
        [{"tools": [TOOL], "instructions": SAYS}],
        [{"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL], "instructions": SAYS}}],
        [
            {"result": {"protocolVersion": "2025-06-18", "serverInfo": {}, "instructions": SAYS}},
            {"tools": [TOOL]},
        ],
        [{"serverInfo": {"name": "log"}, "instructions": SAYS}, {"result": {"tools": [TOOL]}}],
        [{"name": "log", "tools": {"log": {"tools": [TOOL], "instructions": SAYS}}}],
        [{"name": "log", "instructions": SAYS, "tools": {"log": {"tools": [TOOL]}}}],
    ],
)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_what_a_server_says_of_itself_is_said_of_its_tools(
    tmp_path: Path, records: list[Any], suffix: str
) -> None:
    path = tmp_path / f"dump.{suffix}"
    lines = "\n".join(map(json.dumps, records))
    path.write_text(json.dumps(records) if suffix == "json" else lines, "utf-8")
    (document,) = McpDumpSource(path).read()
    assert isinstance(document, ApiDocument)
    assert document.about == SAYS


@pytest.mark.parametrize("instructions", [None, 7, ["x"], {"a": 1}])
def test_instructions_that_are_no_text_are_none(tmp_path: Path, instructions: object) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"tools": [TOOL], "instructions": instructions}), "utf-8")
    (document,) = McpDumpSource(path).read()
    assert isinstance(document, ApiDocument)
    assert document.about == ""
