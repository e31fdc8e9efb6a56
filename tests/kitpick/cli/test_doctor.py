"""`kitpick doctor` names every extra that a user can install, and the set of models in use."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kitpick.cli.doctor import EXTRAS, _in_time, _ownership, _said_by
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_engines.remote.engine import RemoteEngine

PROJECT = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text("utf-8")
OF_DEVELOPERS = {"browser", "clients", "compare", "dev"}


def test_every_extra_is_named() -> None:
    listed = PROJECT.partition("[project.optional-dependencies]")[2].partition("\n[project.")[0]
    assert set(re.findall(r"^([a-z-]+) = \[", listed, re.MULTILINE)) - OF_DEVELOPERS == set(EXTRAS)


@pytest.mark.needs("weights", "onnxruntime")
def test_models_that_do_not_belong_together_are_broken(
    settings: Settings, kitpick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = kitpick("doctor", "--json")
    assert sound.code == ExitCode.OK
    rows = {row["name"]: row for row in json.loads(sound.out) if row["topic"] == "model"}
    assert rows["set"]["value"] == "default"
    assert "list_ranker" in rows
    monkeypatch.setenv("KITPICK_ENCODER", "minilm-l6")
    mixed = kitpick("doctor", "--json")
    assert mixed.code == ExitCode.UNAVAILABLE
    rows = {row["name"]: row for row in json.loads(mixed.out) if row["topic"] == "model"}
    assert rows["set"]["value"] == "default, but for encoder"
    assert rows["list_ranker"]["ok"] is False
    assert "KITPICK_MODELS" in rows["list_ranker"]["value"]


@pytest.mark.needs("weights", "onnxruntime")
def test_it_says_what_the_profile_refuses_of_held_out_requests(catalog: Any, kitpick: Any) -> None:
    (found,) = (row for row in json.loads(kitpick("doctor", "--json").out) if row["topic"] == "abstention")
    assert found["name"] == "kitpick"
    assert re.search(r"MCP servers, .* tools: \d+ of \d+ refused, at most [\d.]+ %", found["value"])


@pytest.mark.parametrize("variable", ["KITPICK_MODELS", "KITPICK_ENCODER", "KITPICK_QUERY_KIND"])
def test_a_model_that_is_not_there_is_broken(
    variable: str, settings: Settings, kitpick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "foo")
    found = kitpick("doctor", "--json")
    assert found.code == ExitCode.UNAVAILABLE
    assert "no model" in next(row["value"] for row in json.loads(found.out) if row["ok"] is False)


@pytest.mark.needs("weights", "onnxruntime")
def test_texts_that_a_model_does_not_read_to_their_end_are_told(
    settings: Settings, kitpick: Any, tmp_path: Path
) -> None:
    names = {f"a_long_parameter_{number}": {"type": "string"} for number in range(24)}
    long = {"name": "ring", "description": "Rings", "parameters": {"type": "object", "properties": names}}
    file = tmp_path / "bells.json"
    file.write_text(json.dumps([long, {**long, "name": "toll", "parameters": {}}]))
    taken = kitpick("ingest", f"functions:{file}")
    reads = "the cross-encoder reads 109 tokens of an API's text beside a request of 16"
    told = f"{reads}; 1 of 2 are longer (bells/"
    assert told in taken.err
    (found,) = (row for row in json.loads(kitpick("doctor", "--json").out) if row["topic"] == "texts")
    assert found["name"] == "cross-encoder"
    assert found["value"].startswith(told)
    assert found["ok"] is None
    again = kitpick("ingest", "--json", f"functions:{file}")
    assert json.loads(again.out)[0]["cut_texts"] == []


@pytest.mark.parametrize(("allowed", "enough"), [(1.0, True), (0.6, True), (0.599, False), (0.1, False)])
def test_it_says_whether_a_search_has_the_time_that_the_service_measured(
    allowed: float, enough: bool
) -> None:
    line = _in_time("http://rescorer:8080", 400.0, allowed)
    assert line.ok is enough
    assert "a search takes about 400 ms" in line.value
    assert ("set at least 600ms" in line.value) is not enough


@pytest.mark.parametrize(("search_ms", "enough"), [(90.0, True), (3_000.0, True), (3_500.0, False)])
def test_a_deadline_that_nobody_set_follows_the_rescorer_within_bounds(
    search_ms: float, enough: bool
) -> None:
    line = _in_time("http://rescorer:8080", search_ms, 0.0)
    assert line.ok is enough
    assert ("kitpick.deadline is 5000 ms" in line.value) is (search_ms > 1_700)


@pytest.mark.parametrize(
    ("said", "encoders", "milliseconds"),
    [
        (b'{"models": {"encoder": {"identity": "e@1"}}, "search_ms": 310.5}', ["e@1"], 310.5),
        (b'{"models": {"encoder": {"identity": "e@1"}}}', ["e@1"], 0.0),
        (b'{"models": {}}', [], 0.0),
        (b"[]", [], 0.0),
        (b'{"models": {"encoder": {"identity": "e@1"}}, "search_ms": "soon"}', [], 0.0),
        (b"no JSON", [], 0.0),
    ],
)
def test_what_a_service_says_of_itself_is_read(
    said: bytes, encoders: list[str], milliseconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service of an earlier version does not say what a search takes."""
    monkeypatch.setattr("kitpick.cli.doctor.urlopen", lambda url, timeout: BytesIO(said))
    found = _said_by("http://rescorer:8080/")
    assert list(found.encoders) == encoders
    assert found.search_ms == milliseconds


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ({"tools-1", "other"}, "shows other too, and this catalog did not make it"),
        ({"other"}, "shows other in place of tools-1, and this catalog did not make it"),
    ],
)
def test_an_alias_that_shows_a_foreign_index_is_told(shown: set[str], says: str) -> None:
    engine = SimpleNamespace(
        address=SimpleNamespace(name="tools"),
        verify=lambda: None,
        strangers=lambda: sorted(shown - {"tools-1"}),
        is_shown=lambda index: index in shown,
    )
    (line,) = _ownership(cast(RemoteEngine, engine), "tools-1")
    assert line.ok is False
    assert says in line.value
    assert ("ingest any source again" in line.value) is ("tools-1" not in shown)
