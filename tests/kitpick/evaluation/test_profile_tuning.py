"""Tuning over a real catalog with the shipped models."""

from __future__ import annotations

import itertools
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Judged, Plan
from kitpick.evaluation.profile_tuning import tune_profile
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError, InvalidSpace
from kitpick_evaluation.tuning.recording import Recorded
from kitpick_evaluation.tuning.search import Effort
from kitpick_evaluation.tuning.space import Choice, set_choices
from kitpick_evaluation.tuning.tune import TuneOptions
from kitpick_ingest.progress import NullProgress
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.search import ALL_RANKINGS, IndexFetcher

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")

PLAN = Plan(profiles=("kitpick",))
CHOICES = (
    Choice("fuse", "lexical", (0.5, 2.0)),
    Choice("blend", "rank_weight", (0.0, 1.0)),
    Choice("concentrate", "confidence", (0.0, 0.95)),
    Choice("concentrate", "threshold", (0.1, 0.7)),
)


@pytest.fixture
def concentrating(tmp_path: Path) -> str:
    """The default profile, which also fetches the rest of a tool: a stage that asks for documents."""
    shipped = files("kitpick_rescorers.profiles").joinpath("kitpick.toml").read_text("utf-8")
    profile = tmp_path / "concentrating.toml"
    profile.write_text(f'{shipped}\n[[stages]]\nstage = "concentrate"\nwhen = "single"\nconfidence = 0.95\n')
    return str(profile)


@pytest.mark.parametrize("sampled", [False, True], ids=["without samples", "with samples"])
def test_a_recorded_request_answers_exactly_as_the_catalog_does(
    catalog: Catalog, asks: dict[str, str], concentrating: str, sampled: bool
) -> None:
    if sampled:
        catalog.add_intents([Intent(f"{text} please", api) for text, api in asks.items()])
    base = load_profile(concentrating)
    models, _ = catalog.models.for_needs(base.needs())
    for text in ("will it rain in Paris?", "mail Bob and book a flight"):
        query = catalog.way.prepare(text, ALL_RANKINGS)
        _, request = catalog.way.candidates(query, ALL_RANKINGS, 200, Filter())
        assert any(candidate.intent for candidate in request.candidates) == sampled
        fetcher = IndexFetcher(catalog.engine, Filter())
        recorded = Recorded.of(JudgedQuery("1", text, frozenset("a")), request, fetcher)
        for setting in itertools.product(range(2), repeat=len(CHOICES)):
            profile = set_choices(base, CHOICES, setting)
            expected = catalog.search(text, 5, profile=profile)
            found = recorded.answer(profile, models, 5)
            assert found.ids == tuple(hit.document.id for hit in expected.hits)
            assert found.scores == tuple(hit.score for hit in expected.hits)


def test_settings_are_chosen_on_some_requests_and_judged_on_others(
    judged: Judged, concentrating: str
) -> None:
    options = TuneOptions(effort=Effort(16, "grid"))
    tuned = tune_profile(judged, concentrating, CHOICES, PLAN, options, NullProgress())
    report = tuned.report
    assert (report.tuned_on, report.held_out, report.tried) == (12, 6, 16)
    assert report.chosen.keys() == {choice.name for choice in CHOICES}
    assert tuned.profile.name == "kitpick-tuned"
    assert {field.name for field in report.flat} == report.chosen.keys()
    assert report.after.interval[0] <= report.after.mean <= report.after.interval[1]
    assert report.abstention is not None
    assert report.abstention.unanswerable == 6


def test_a_list_ranker_that_does_not_fit_the_models_is_left_out(judged: Judged) -> None:
    without = Catalog(judged.catalog.engine, Settings(list_ranker="none"))
    asked = replace(judged, catalog=without)
    choices = (Choice("learned", "prior", (1.0, 2.0)), Choice("blend", "dense", (0.5, 1.0)))
    options = TuneOptions(effort=Effort(2, "grid"))
    tuned = tune_profile(asked, "kitpick", choices, PLAN, options, NullProgress())
    assert tuned.report.chosen.keys() == {"blend.dense"}
    assert "learned" not in {stage.name for stage in tuned.profile.stages}


def test_two_searches_are_the_same(judged: Judged, concentrating: str) -> None:
    options = TuneOptions(effort=Effort(6, "grid", seed=2))
    one, other = (
        tune_profile(judged, concentrating, CHOICES, PLAN, options, NullProgress()).report for _ in "12"
    )
    assert one == other


def test_what_cannot_be_tuned_is_refused(judged: Judged, concentrating: str) -> None:
    with pytest.raises(InvalidSpace, match="no stage 'truncate'"):
        tune_profile(
            judged, concentrating, [Choice("truncate", "seen", (5,))], PLAN, TuneOptions(), NullProgress()
        )
    options = TuneOptions(figure="ndgc@5", effort=Effort(2, "grid"))
    with pytest.raises(EvaluationError, match="no figure"):
        tune_profile(judged, concentrating, CHOICES, PLAN, options, NullProgress())
    options = TuneOptions(effort=Effort(2, "grid"), held_out=0.1)
    with pytest.raises(EvaluationError, match="too few"):
        tune_profile(judged, concentrating, CHOICES, PLAN, options, NullProgress())
