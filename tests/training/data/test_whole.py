"""Written requests over all that their tools can do."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kitpick_training.data.prepared import PreparedCatalog
from kitpick_training.data.ranking_lists import Mixture, draw_list
from kitpick_training.data.whole import read_newest_servers, read_operations, read_servers

PETS = {"category": "pets", "provider": "pets.com", "service": "", "tool": "Pets"}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def shown(number: int, api: str, **changes: object) -> dict[str, Any]:
    rest = {"source": "openapi", "api": api, "method": "GET", "path": f"/{number}", "description": api}
    return {"id": number, "parameters": [], **PETS, **rest, **changes}


def listed(api: str) -> dict[str, Any]:
    rest = {"method": "GET", "path": f"/{api}", "summary": api, "description": f"{api} of the shop"}
    return {**PETS, "api": api, "tags": [], "parameters": [], "deprecated": False, **rest}


def asked(text: str, *relevant: int, also: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"request": text, "style": "D", "relevant": list(relevant), "also": list(also), "batch": 0}


@pytest.fixture
def operations(tmp_path: Path) -> Any:
    """Three operations were shown to an author, of a tool with six."""
    folder = tmp_path / "written"
    lines(folder / "apis.jsonl.gz", shown(0, "feed"), shown(1, "walk"), shown(2, "wash"))
    lines(folder / "requests.jsonl.gz", asked("it is hungry", 0, also=(2,)))
    names = ("feed", "walk", "wash", "sell", "paint", "count")
    openapi = lines(tmp_path / "openapi.jsonl.gz", *map(listed, names))
    return read_operations([folder, tmp_path / "absent"], openapi, "CC0")


def test_the_catalog_holds_what_the_author_was_not_shown(operations: Any) -> None:
    assert sorted(document.api for document in operations.documents.values()) == [
        "count",
        "feed",
        "paint",
        "sell",
        "walk",
        "wash",
    ]
    assert set(operations.groups.values()) == {"pets.com"}
    [request] = operations.requests
    by_id = {id_: document.api for id_, document in operations.documents.items()}
    assert [by_id[id_] for id_ in request.relevant] == ["feed"]
    assert [by_id[id_] for id_ in request.also] == ["wash"]
    assert [by_id[id_] for id_ in request.offered] == ["walk"]


def test_only_what_the_author_saw_is_surely_wrong(operations: Any) -> None:
    prepared = PreparedCatalog(operations, np.arange(6, dtype=np.int32)[None])
    drawn = draw_list(
        prepared, Mixture({"operations": 1.0}, offered_first=1, without_answer=0.0), 5, random.Random(1)
    )
    marks = zip(drawn.relevant, drawn.doubtful, strict=True)
    kinds = ["right" if right else "in doubt" if doubtful else "wrong" for right, doubtful in marks]
    assert sorted(kinds) == ["in doubt", "in doubt", "in doubt", "right", "wrong"]


def test_a_tool_of_a_server_is_found_by_name_and_of_several_by_its_description(tmp_path: Path) -> None:
    folder = tmp_path / "written"
    tool = {"source": "toucan", "tool": "Clock", "provider": "clock", "method": "", "path": ""}
    lines(
        folder / "apis.jsonl.gz",
        shown(0, "now", description="Tells the time in a zone", **tool),
        shown(1, "gone", **tool),
    )
    lines(folder / "requests.jsonl.gz", asked("how late is it", 0), asked("nobody has this", 1))
    listing = [
        {"name": "now", "description": "Tells whether it is now", "inputSchema": SCHEMA},
        {"name": "now", "description": "Tells the time in a zone of the world", "inputSchema": SCHEMA},
    ]
    servers = lines(
        tmp_path / "servers.jsonl.gz",
        {"server": "Clock", "label": "time", "tools": listing},
        {"server": "Other", "label": "time", "tools": listing},
    )
    found = read_servers([folder], servers, "MIT")
    [request] = found.requests
    assert found.documents[request.relevant[0]].description.startswith("Tells the time")
    assert found.documents[request.relevant[0]].tool == "Clock"
    assert {found.documents[id_].tool for id_ in request.also} == {"Other"}, "a copy answers as well"
    assert set(found.groups.values()) == {"clock", "Other"}


def test_newest_servers_are_asked_over_all_their_tools(tmp_path: Path) -> None:
    tools = [
        {"name": name, "description": f"{name} notes", "inputSchema": SCHEMA} for name in ("read", "write")
    ]
    common = {"instructions": "Notes of a team.", "tools": tools}
    copy = {"name": "read", "description": "read notes", "inputSchema": SCHEMA}
    lines(
        tmp_path / "mcp-servers-2026.jsonl.gz",
        {"server": "notes", **common},
        {"server": "copy", "instructions": None, "tools": [copy]},
    )
    known = {"request": "what did we write", "relevant": [["notes", "read"]], "also": [["notes", "gone"]]}
    gone = {"request": "burn it", "relevant": [["notes", "burn"]], "also": []}
    lines(tmp_path / "written-mcp-2026.jsonl.gz", known, gone)
    catalog = read_newest_servers(tmp_path, "MIT")
    assert len(catalog.documents) == 3
    (asked,) = catalog.requests
    assert [catalog.documents[id_].api for id_ in asked.relevant] == ["read"]
    assert [catalog.documents[id_].tool for id_ in asked.also] == ["copy"], "an equal tool serves as well"
    assert set(catalog.groups.values()) == {"notes", "copy"}
