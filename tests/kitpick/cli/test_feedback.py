"""`kitpick feedback`, `kitpick replay` and `kitpick forget`, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_engines.intents.store import Intent

pytestmark = pytest.mark.needs("weights", "onnxruntime")

SLANG = "ping the gang about tonight"


EMAIL = "functions/functions/send_email"
PAGE = (Path(__file__).parents[3] / "docs" / "intents.md").read_text("utf-8")


def test_a_replay_prints_what_the_documentation_shows(
    settings: Settings, catalog: Catalog, kitpick: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.add_intents(Intent(f"please use {each.api}", each.id) for each in catalog.documents())
    monkeypatch.setenv("KITPICK_ANSWERS", str(tmp_path / "answers.db"))
    monkeypatch.setenv("KITPICK_PROFILE", "hybrid")
    answer = json.loads(kitpick("search", SLANG, "-k", "8", "--json").out)["id"]
    for client in ("ann", "bob", "carl"):
        assert kitpick("feedback", answer, "--chosen", EMAIL, "--client", client).code == ExitCode.OK
    replayed = kitpick("replay")
    shown = {" ".join(line.split()) for line in PAGE.splitlines()}
    lines = [" ".join(line.split()) for line in (replayed.out + replayed.err).splitlines()]
    wanted = [line for line in lines if "MRR" in line or "effective;" in line]
    assert len(wanted) == 3
    assert [line for line in wanted if line not in shown] == []


def test_the_commands_say_what_they_did(
    settings: Settings, catalog: Catalog, kitpick: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITPICK_ANSWERS", str(tmp_path / "answers.db"))
    answer = json.loads(kitpick("search", SLANG, "--json").out)
    first = answer["hits"][0]["id"]
    for client in ("ann", "bob"):
        said = kitpick("feedback", answer["id"], "--chosen", first, "--client", client)
        assert (said.code, said.err) == (ExitCode.OK, "note: 1 remembered\n")
    assert (
        f"note: {first}: 2 clients chose it, for requests like this"
        in kitpick("search", SLANG, "--explain").err
    )
    replayed = kitpick("replay")
    assert replayed.code == ExitCode.OK
    assert "note: 2 choices, 2.0 effective; 0 would have risen, 0 fallen" in replayed.err
    assert "position bias" in replayed.err
    assert kitpick("forget", "--tenant", "").err == "note: 1 answers and 2 choices are forgotten\n"
    unknown = kitpick("feedback", answer["id"], "--chosen", first)
    assert unknown.code == ExitCode.INPUT
    assert "no answer has the id" in unknown.err
