"""Readers of the four natural sets, on small files of the same form."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from battery.natural import read_archive, read_functions, read_music

from kitpick_training.data.records import MissingData


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_steps_of_a_solution_are_operations_and_repeated_ones_count_once(tmp_path: Path) -> None:
    paths = {
        "/search": {"get": {"operationId": "search", "summary": "Search"}},
        "/me": {"get": {"operationId": "who-am-i", "summary": "Profile"}},
    }
    specification = {"openapi": "3.0.0", "info": {"title": "Music", "version": "1"}, "paths": paths}
    _write(tmp_path / "spotify_oas.json", specification)
    solutions = [["GET /search", "GET /me", "GET /search"], ["DELETE /me"]]
    _write(tmp_path / "spotify.json", [{"query": f"q{n}", "solution": s} for n, s in enumerate(solutions)])
    found = read_music(tmp_path)
    (request,) = found.requests
    assert request.text == "q0", "the other one needs an operation that the service does not have"
    assert [found.documents[key].api for key in request.relevant] == ["search", "who-am-i"]


def test_a_nested_call_names_its_functions_and_not_its_answer(tmp_path: Path) -> None:
    function: dict[str, Any] = {"name": "Buses.Find", "description": "Find a bus"}
    inputs = {"from": {"type": "string", "required": True}, "day": {"description": "The day"}}
    for kind in ("executable", "non-executable-glaive", "non-executable-sgd"):
        named = {**function, "name": f"{function['name']}{kind}", "arguments": inputs}
        call = [{"name": named["name"]}, {"name": "var_result"}]
        _write(tmp_path / "nestful" / f"{kind}-spec.json", [named])
        _write(tmp_path / "nestful" / f"{kind}-data.json", [{"input": kind, "output": call}])
    found = read_functions(tmp_path)
    assert [request.relevant for request in found.requests] == [(name,) for name in found.documents]
    first = found.documents["Buses.Findexecutable"]
    assert first.tool == "Buses"
    assert [(each.name, each.required, each.description) for each in first.parameters] == [
        ("from", True, ""),
        ("day", False, "The day"),
    ]


def test_an_archive_holds_tools_and_requests_with_their_labels(tmp_path: Path) -> None:
    members = {
        "tools.json": [{"id": "t1", "documentation": {"name": "add", "description": "Adds"}}],
        "queries.json": [{"query": "one and one", "labels": [{"id": "t1"}]}],
    }
    with tarfile.open(tmp_path / "set.tgz", "w:gz") as archive:
        for name, value in members.items():
            data = json.dumps(value).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    found = read_archive(tmp_path, "steps", "set.tgz")
    assert [(r.text, r.relevant) for r in found.requests] == [("one and one", ("t1",))]
    assert found.documents["t1"].description == "Adds"


def test_absent_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="spotify_oas"):
        read_music(tmp_path)
    with pytest.raises(MissingData, match=r"set\.tgz"):
        read_archive(tmp_path, "steps", "set.tgz")
