"""The button that adapts a profile: who may press it, one run at a time, and how a run is told or stopped."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import eventually

from kitpick.ui import adapt_runs
from kitpick.ui.adapt_runs import AdaptRuns
from kitpick.ui.errors import AdaptUnderWay, NoAdapt
from kitpick_foundation.places import HiddenPlaces
from kitpick_service.keys import digest, new_key

AUDIT = {"request_id": "r1", "key": "ann"}
SAYS = "import sys, os; print('read: 1 of 2', os.environ['KITPICK_CATALOG'], file=sys.stderr, flush=True); "
WAITS = SAYS + "sys.stdin.close(); import threading; threading.Event().wait()"
ENDS = SAYS + "print('Adapted to /secret/shop.db.'); print(*sys.argv[1:])"
FAILS = SAYS + "print('error: too few', file=sys.stderr); sys.exit(2)"


def runs_of(script: str) -> AdaptRuns:
    places = HiddenPlaces(["/secret/shop.db"])
    return AdaptRuns({"KITPICK_CATALOG": "/secret/shop.db"}, places, [sys.executable, "-c", script])


@pytest.fixture
def waiting() -> Iterator[AdaptRuns]:
    runs = runs_of(WAITS)
    yield runs
    runs.close()


def test_a_run_says_how_far_it_is_is_alone_and_can_be_stopped(waiting: AdaptRuns) -> None:
    assert waiting.state().state == "none"
    waiting.start("descriptions", [], AUDIT)
    eventually(lambda: waiting.state().said)
    assert (waiting.state().state, waiting.state().said) == ("running", ("read: 1 of 2 shop.db",))
    with pytest.raises(AdaptUnderWay, match="wait for its end, or stop it"):
        waiting.start("marks", [], AUDIT)
    waiting.stop(AUDIT)
    eventually(lambda: waiting.state().state != "running")
    assert waiting.state().state == "stopped"
    waiting.start("marks", [], AUDIT)
    assert (waiting.state().state, waiting.state().by) == ("running", "marks")


def test_the_end_of_the_server_ends_a_run(waiting: AdaptRuns) -> None:
    waiting.start("descriptions", [], AUDIT)
    waiting.close()
    assert waiting.state().state == "stopped"


def test_a_result_is_told_without_folders_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    runs = runs_of(ENDS)
    with caplog.at_level(logging.INFO, "kitpick.service"):
        runs.start("marks", ["--queries=x y"], AUDIT)
        eventually(lambda: [each for each in caplog.records if each.message == "adapt ended"])
    assert (runs.state().state, runs.state().said) == ("done", ("Adapted to shop.db.", "--queries=x y"))
    (began, ended) = (vars(record) for record in caplog.records)
    assert (began["message"], began["key"], began["by"]) == ("adapt began", "ann", "marks")
    assert (ended["outcome"], ended["request_id"]) == ("done", "r1")


def test_a_failure_is_told_in_its_words() -> None:
    runs = runs_of(FAILS)
    runs.start("descriptions", [], AUDIT)
    eventually(lambda: runs.state().state != "running")
    assert (runs.state().state, runs.state().said) == ("failed", ("error: too few",))


def test_what_no_command_line_can_hold_starts_nothing() -> None:
    runs = runs_of(ENDS)
    with pytest.raises(NoAdapt):
        runs.start("descriptions", ["--tenant=a\0b"], AUDIT)
    assert runs.state().state == "none"
    runs.close()


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_operators_adapt_and_nobody_else_does(
    show: Any, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt_runs, "_NICENESS", 0)  # beside other tests it would hardly run
    keys = {name: new_key() for name in ("boss", "ann")}
    entries = (f"[[keys]]\nname = '{name}'\nsha256 = '{digest(key)}'\n" for name, key in keys.items())
    file = tmp_path / "keys.toml"
    file.write_text("operator = true\n".join(entries))
    header = {name: {"authorization": f"Bearer {key}"} for name, key in keys.items()}
    with show(shop, adapted=tmp_path / "mine.toml", keys=str(file)) as shown:
        offered = {name: shown.ask("about", **header[name]).json()["adapting"] for name in keys}
        assert offered == {"boss": True, "ann": False}
        told = {name: shown.ask("about", **header[name]).json()["operator"] for name in keys}
        assert told == {"boss": True, "ann": False}
        for name, body in (("adapting", None), ("adapt", {}), ("stop-adapting", {})):
            refused = shown.ask(name, body, **header["ann"])
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
        assert shown.ask("adapt", {"by": "marks"}, **header["boss"]).status_code == 404, "none are taken"
        assert shown.ask("adapt", {}, **header["boss"]).json()["state"] == "running"
        eventually(lambda: shown.ask("adapting", **header["boss"]).json()["state"] != "running", 1.0)
        ended = shown.ask("adapting", **header["boss"]).json()
    assert ended["state"] == "failed"
    assert "shop.db: whoever asks sees 11 APIs of 9 tools with a description" in ended["said"][0]
    assert str(tmp_path) not in str(ended)
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_without_a_file_nobody_adapts(shown: Any) -> None:
    assert shown.ask("about").json()["adapting"] is False
    refused = shown.ask("adapt", {})
    assert refused.status_code == 404
    assert "--adapted FILE" in refused.json()["error"]["message"]
