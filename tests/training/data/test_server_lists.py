"""MCP servers with tools of one name, or with a list where a schema should be."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from kitpick_training.data.operations import read_toucan

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def servers(path: Path, *listed: tuple[str, list[dict[str, Any]]]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for name, tools in listed:
            file.write(json.dumps({"server": name, "label": "Search", "tools": tools}) + "\n")
    return path


def tool(name: str, schema: object = SCHEMA) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}", "inputSchema": schema}


def test_every_listed_tool_is_a_document_of_its_own(tmp_path: Path) -> None:
    path = servers(tmp_path / "s.jsonl.gz", ("Time", [tool("now"), tool("zone")]), ("Time", [tool("now")]))
    found = read_toucan(path)
    assert [document.api for document in found] == ["now", "zone", "now"]
    assert len({document.id for document in found}) == 3
    assert {(document.tool, document.category) for document in found} == {("Time", "Search")}


def test_a_list_of_fields_becomes_a_schema_without_the_name_of_the_tool(tmp_path: Path) -> None:
    fields = [
        {"name": "look", "required": False, "type": "string"},
        {"name": "place", "required": True, "type": "string"},
    ]
    (found,) = read_toucan(servers(tmp_path / "s.jsonl.gz", ("Maps", [tool("look", fields)])))
    assert [(parameter.name, parameter.required) for parameter in found.parameters] == [("place", True)]


def test_all_tools_are_read(shared_data: Path) -> None:
    assert len(read_toucan(shared_data / "toucan" / "servers.jsonl.gz")) == 14_925
