"""A trial on a real catalog: both profiles answer, choices are counted, and the result says who goes on."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.feedback import UnknownResult
from kitpick.settings import Settings
from kitpick.trial import InvalidTrial, ProfileTrial, TrialPlan
from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineUnavailable
from kitpick_evaluation.interleaving import Drafted

pytestmark = pytest.mark.needs("weights", "onnxruntime")
RAIN = "will it rain in Paris?"


@pytest.fixture
def trial(tmp_path: Path) -> ProfileTrial:
    made = ProfileTrial(tmp_path / "trial.db")
    made.start(TrialPlan("bm25", "dense"))
    return made


@pytest.fixture
def tried(catalog: Catalog, settings: Settings, trial: ProfileTrial) -> Catalog:
    """The catalog, as a search with `KITPICK_TRIAL` opens it."""
    return Catalog(catalog.engine, replace(settings, trial=trial.path), catalog.models)


def test_both_profiles_answer_and_a_choice_is_a_point_for_who_drew_it(
    tried: Catalog, trial: ProfileTrial
) -> None:
    found = tried.search(RAIN, 4)
    assert found.profile == "bm25|dense"
    ids = [hit.document.id for hit in found.hits]
    assert len(ids) == len(set(ids)) == 4
    tried.feedback(found.id, ids[:1], client="ann")
    report = trial.report()
    assert (report.answers, report.clients, report.score.decided) == (1, 1, 1)
    assert report.winner is None
    assert "does not say yet which is better" in report.summary
    assert [hit.rank for hit in found.hits] == [1, 2, 3, 4]


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX here")
def test_a_trial_in_a_read_only_folder_is_reported_and_its_end_is_refused_with_the_cause() -> None:
    with tempfile.TemporaryDirectory() as name:
        trial = ProfileTrial(Path(name) / "trial.db")
        trial.start(TrialPlan("bm25", "dense"))
        Path(name).chmod(0o555)
        superuser = os.geteuid() == 0
        if superuser:
            os.seteuid(65534)
        try:
            assert trial.report().answers == 0
            with pytest.raises(EngineUnavailable, match="its folder is read-only for this user"):
                trial.end("stopped")
        finally:
            if superuser:
                os.seteuid(0)
            Path(name).chmod(0o755)


def test_a_request_with_a_profile_or_a_budget_of_its_own_takes_no_part(
    tried: Catalog, trial: ProfileTrial
) -> None:
    assert tried.search(RAIN, 2, profile="bm25").profile == "bm25"
    assert tried.search(RAIN, 2, budget=300).profile == "kitpick"
    assert trial.report().answers == 0


def test_the_winner_answers_alone_and_a_promotion_can_be_taken_back(
    tried: Catalog, trial: ProfileTrial
) -> None:
    trial.end("promoted")
    assert tried.search(RAIN, 2).profile == "dense"
    trial.end("stopped")
    assert tried.search(RAIN, 2).profile == "bm25"


def test_a_baseline_that_is_surely_better_ends_the_trial_by_itself(
    tried: Catalog, trial: ProfileTrial
) -> None:
    for number in range(12):
        answer = f"answer-{number:024x}"
        trial.remember(answer, "", [Drafted("a", "baseline"), Drafted("b", "candidate")])
        trial.choose([answer], "", ["a"], f"client {number}")
    assert trial.plan.state == "guarded"
    assert trial.report().winner == "baseline"
    assert tried.search(RAIN, 2).profile == "bm25"


def test_a_candidate_that_fails_costs_the_user_nothing(tried: Catalog, tmp_path: Path) -> None:
    broken = ProfileTrial(tmp_path / "broken.db")
    broken.start(TrialPlan("dense", str(tmp_path / "absent.toml")))
    catalog = Catalog(tried.engine, replace(tried.settings, trial=broken.path), tried.models)
    found = catalog.search(RAIN, 2)
    assert (found.profile, len(found.hits)) == ("dense", 2)
    assert any("absent.toml" in each.reason for each in found.degraded if each.stage == "trial")


@pytest.mark.parametrize("content", [None, b"", b"no database" * 100])
def test_a_trial_that_cannot_be_read_leaves_the_default_and_says_so(
    tried: Catalog, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "no-trial.db"
    if content is not None:
        file.write_bytes(content)
    catalog = Catalog(tried.engine, replace(tried.settings, trial=file), tried.models)
    found = catalog.search(RAIN, 2)
    assert found.profile == "kitpick"
    assert [each.stage for each in found.degraded if each.stage == "trial"] == ["trial"]


def test_a_long_trial_makes_no_answer_slower(trial: ProfileTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads past all that is remembered is done for one answer of a hundred."""
    ran: list[str] = []
    monkeypatch.setattr("kitpick.trial.MAX_ANSWERS", 2)
    monkeypatch.setattr(
        "kitpick.trial.use_write_ahead_log", lambda connection, _: connection.set_trace_callback(ran.append)
    )
    for number in range(101):
        trial.remember(f"answer-{number}", "", [Drafted(f"api-{place}", "baseline") for place in range(5)])
    assert sum("OFFSET" in statement for statement in ran) == 2
    assert trial.report().answers in (2, 3)


def test_an_answer_that_the_trial_cannot_remember_is_given_all_the_same(
    tried: Catalog, trial: ProfileTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise EngineUnavailable("the disk is full")

    monkeypatch.setattr(ProfileTrial, "remember", full)
    found = tried.search(RAIN, 2)
    assert len(found.hits) == 2
    assert [each.reason for each in found.degraded if each.stage == "trial"] == ["the disk is full"]


def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "catalog.db"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE documents (id TEXT)")
    before = other.read_bytes()
    with pytest.raises(InvalidTrial, match="holds no trial"):
        ProfileTrial(other).report()
    with pytest.raises(InvalidTrial, match="of something else"):
        ProfileTrial(other).start(TrialPlan("bm25", "dense"))
    assert other.read_bytes() == before


def test_a_trial_needs_two_profiles_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrial, match="are both 'bm25'"):
        ProfileTrial(tmp_path / "trial.db").start(TrialPlan("bm25", "bm25"))
    with pytest.raises(EngineUnavailable, match="no such folder"):
        ProfileTrial(tmp_path / "absent" / "trial.db").start(TrialPlan("bm25", "dense"))
    assert not list(tmp_path.iterdir())


def test_tenants_are_counted_apart_and_choose_only_from_their_own_answers(trial: ProfileTrial) -> None:
    answer = f"answer-{0:024x}"
    trial.remember(answer, "acme", [Drafted("a", "baseline"), Drafted("b", "candidate")])
    trial.choose([answer], "other", ["b"], "eve")
    assert trial.report().score.decided == 0
    trial.choose([answer], "acme", ["b", "b", "unseen"], "ann")
    trial.choose([answer], "acme", ["b"], "bob")
    report = trial.report()
    assert report.by_tenant == {"acme": report.score}
    assert (report.score.candidate, report.score.baseline) == (1, 0), "an answer is one vote"


def test_what_is_forgotten_is_gone_from_the_trial(tried: Catalog, trial: ProfileTrial) -> None:
    for tenant in ("acme", "other"):
        found = tried.search(RAIN, 2, filter=Filter(tenant=tenant))
        tried.feedback(found.id, [found.hits[0].document.id], client="zebra", filter=Filter(tenant=tenant))
    tried.forget("acme")
    assert list(trial.report().by_tenant) == ["other"]
    tried.forget(older_than_days=1)
    assert trial.report().clients == 1, "nothing is a day old"
    tried.forget(older_than_days=0)
    assert (trial.report().answers, trial.report().clients) == (0, 0)
    assert b"zebra" not in b"".join(file.read_bytes() for file in trial.path.parent.glob("trial.db*"))


def test_where_the_trial_is_gone_the_rest_is_forgotten_all_the_same(
    tried: Catalog, trial: ProfileTrial
) -> None:
    found = tried.search(RAIN, 2)
    for file in trial.path.parent.glob("trial.db*"):
        file.unlink()
    assert tried.forget().answers == 1
    with pytest.raises(UnknownResult):
        tried.feedback(found.id, [found.hits[0].document.id])


def test_a_profile_of_ones_own_is_found_from_every_folder(
    tmp_path: Path, kitpick, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('extends = "hybrid"\nname = "mine"\n')
    kitpick("trial", "start", "t.db", "--candidate", "mine.toml")
    assert ProfileTrial(tmp_path / "t.db").plan.candidate == str(tmp_path / "mine.toml")


def test_the_commands_begin_report_promote_and_stop(tmp_path: Path, kitpick) -> None:
    file = str(tmp_path / "t.db")
    assert kitpick("trial", "report", file).code == ExitCode.INPUT
    assert kitpick("trial", "start", file, "--candidate", "no-such-profile").code == ExitCode.INPUT
    started = kitpick("trial", "start", file, "--candidate", "rerank", "--json")
    assert json.loads(started.out) == {
        "baseline": "kitpick", "candidate": "rerank", "alpha": 0.05, "state": "running",
    }  # fmt: skip
    assert kitpick("trial", "start", file, "--candidate", "rerank").code == ExitCode.INPUT
    assert "No answer was given yet" in kitpick("trial", "report", file).out
    assert json.loads(kitpick("trial", "promote", file, "--json").out)["state"] == "promoted"
    assert json.loads(kitpick("trial", "stop", file, "--json").out)["state"] == "stopped"
    assert json.loads(kitpick("trial", "report", file, "--json").out)["score"]["tied"] == 0
