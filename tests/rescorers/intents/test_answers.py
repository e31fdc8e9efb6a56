"""The memory of answers: found again by id, bounded, and forgotten by tenant and age."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from kitpick_engines.errors import EngineUnavailable
from kitpick_rescorers.intents import answers as module
from kitpick_rescorers.intents.answers import AnswerLog, RememberedAnswer, answer_ids

ANSWER = RememberedAnswer("rain?", "acme", ("staff",), "hybrid", ("weather", "email"))


@pytest.fixture(params=["memory", "file"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> AnswerLog:
    return AnswerLog(tmp_path / "deep" / "answers.db" if request.param == "file" else None)


def test_an_answer_is_found_again_by_its_own_tenant(log: AnswerLog) -> None:
    name = log.remember(ANSWER)
    assert log.find(name, "acme") == ANSWER
    assert log.find(name, "other") is None
    assert log.remember(ANSWER) == name, "the same answer has the same id"
    assert log.remember(replace(ANSWER, shown=("email", "weather"))) != name


@pytest.mark.parametrize(
    ("text", "count"),
    [(ANSWER.id, 1), (f"{ANSWER.id}+{ANSWER.id}", 2), (f"{ANSWER.id} please", 0), ("answer-1", 0), ("", 0)],
)
def test_ids_are_told_from_requests(text: str, count: int) -> None:
    assert len(answer_ids(text)) == count


def test_the_latest_verdict_of_a_client_counts(log: AnswerLog) -> None:
    name = log.remember(ANSWER)
    log.judge(name, ["email"], "ann", "chosen", 1.0)
    log.judge(name, ["email"], "ann", "failed", 2.0)
    log.judge(name, ["weather"], "bob", "chosen", 3.0)
    judged = [(item.api, item.client, item.verdict, item.rank) for item in log.judged()]
    assert judged == [("email", "ann", "failed", 2), ("weather", "bob", "chosen", 1)]
    assert log.judged("other") == []


def test_a_tenant_is_forgotten_whole_and_others_are_not(log: AnswerLog) -> None:
    gone, kept = log.remember(ANSWER), log.remember(replace(ANSWER, tenant="other"))
    for name in (gone, kept):
        log.judge(name, ["email"], "ann", "chosen", 4.0)
    assert log.forget("acme") == 1
    assert log.find(gone, "acme") is None
    assert [item.answer.tenant for item in log.judged()] == ["other"]
    assert log.forget(before=0.0) == 0, "nothing is as old as that"
    assert log.forget() == 1


def test_what_is_forgotten_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path / "answers.db")
    log.remember(replace(ANSWER, request="a very private matter"))
    log.forget("acme")
    log.close()
    assert b"private matter" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_old_answers_and_the_oldest_of_too_many_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_IN_MEMORY", 10)
    log = AnswerLog()
    names = [log.remember(replace(ANSWER, request=f"request {number}")) for number in range(201)]
    assert sum(log.find(name, "acme") is not None for name in names) == 10
    assert log.find(names[-1], "acme")
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: time.time() + 91 * 86_400))
    fresh = [log.remember(replace(ANSWER, request=f"later {number}")) for number in range(100)]
    assert not any(log.find(name, "acme") for name in names), "older than 90 days"
    assert log.find(fresh[-1], "acme")


@pytest.mark.parametrize("quiet", [1, 4])
def test_a_flood_of_one_tenant_pushes_out_no_answer_of_another(
    monkeypatch: pytest.MonkeyPatch, quiet: int
) -> None:
    monkeypatch.setattr(module, "MAX_IN_MEMORY", 10)
    log = AnswerLog()
    kept = [log.remember(replace(ANSWER, request=f"mine {number}")) for number in range(quiet)]
    flood = [log.remember(replace(ANSWER, tenant="other", request=str(number))) for number in range(200)]
    log.remember(replace(ANSWER, tenant="third"))
    assert all(log.find(name, "acme") for name in kept)
    assert log.find(flood[-1], "other"), "the latest of its own stay"
    assert sum(log.find(name, "other") is not None for name in flood) <= 10


def test_another_process_finds_what_is_in_the_file(tmp_path: Path) -> None:
    name = AnswerLog(tmp_path / "answers.db").remember(ANSWER)
    assert AnswerLog(tmp_path / "answers.db").find(name, "acme") == ANSWER


def test_long_requests_and_lists_are_cut(log: AnswerLog) -> None:
    name = log.remember(replace(ANSWER, request="a" * 10_000, shown=tuple(map(str, range(500)))))
    found = log.find(name, "acme")
    assert found is not None
    assert (len(found.request), len(found.shown)) == (module.MAX_REQUEST, module.MAX_SHOWN)


def test_a_file_that_is_something_else_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "answers.db").write_text("not a database at all, but long enough to look at")
    with pytest.raises(EngineUnavailable, match=r"answers\.db: answers: file is not a database"):
        AnswerLog(tmp_path / "answers.db").remember(ANSWER)
