"""`kitpick feedback` and `kitpick forget`, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def test_the_commands_say_what_they_did(
    settings: Settings, catalog: Catalog, kitpick: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITPICK_ANSWERS", str(tmp_path / "answers.db"))
    answer = json.loads(kitpick("search", "ping the gang about tonight", "--json").out)
    first = answer["hits"][0]["id"]
    for client in ("ann", "bob"):
        said = kitpick("feedback", answer["id"], "--chosen", first, "--client", client)
        assert said.code == ExitCode.OK
        assert said.err.startswith("note: 1 remembered\n")
        assert (f"{first} comes first: 2 clients chose it" in said.err) == (client == "bob")
    assert (
        f"note: {first}: 2 clients chose it, for requests like this"
        in kitpick("search", "ping the gang about tonight", "--explain").err
    )
    assert kitpick("forget", "--tenant", "").err == "note: 1 answers and 2 choices are forgotten\n"
    unknown = kitpick("feedback", answer["id"], "--chosen", first)
    assert unknown.code == ExitCode.INPUT
    assert "no answer has the id" in unknown.err


@pytest.mark.usefixtures("catalog")
def test_what_would_remember_nothing_is_refused_with_its_cure(kitpick: Any) -> None:
    email = "functions/functions/send_email"
    refusals = [
        (("write to Bob", "--chosen", "functions/functions/send_mail"), f"did you mean '{email}'"),
        (("write to Bob", "--failed", email, "--not-needed", "no/such/api"), "has the id 'no/such/api'"),
        (("answer-123", "--chosen", email), "no answer has the id 'answer-123'"),
        ((f"answer-{'0' * 24}", "--chosen", email), "no answer has the id"),
        (("  ", "--chosen", email), "the request is empty"),
    ]
    for arguments, said in refusals:
        refused = kitpick("feedback", *arguments)
        assert (refused.code, said in refused.err) == (ExitCode.INPUT, True), refused.err
        assert "remembered" not in refused.err
    assert kitpick("feedback", "write to Bob").code == ExitCode.USAGE


def test_feedback_on_what_an_answer_did_not_show_is_refused(
    catalog: Catalog, kitpick: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITPICK_ANSWERS", str(tmp_path / "answers.db"))
    answer = json.loads(kitpick("search", "ping the gang about tonight", "-k", "1", "--json").out)
    other = next(each.id for each in catalog.documents() if each.id != answer["hits"][0]["id"])
    refused = kitpick("feedback", answer["id"], "--chosen", other)
    assert refused.code == ExitCode.INPUT
    assert f"nothing was remembered: the answer did not show '{other}': " in refused.err
    assert f"'{answer['hits'][0]['id']}'" in refused.err
