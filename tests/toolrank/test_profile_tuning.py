"""Tuning over a real catalog with the shipped models."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from toolrank.catalog import Catalog
from toolrank.evaluating import Judged, Plan, judged_queries
from toolrank.fetching import EngineFetcher
from toolrank.profile_tuning import tune_profile
from toolrank_engines.contract import Filter, SearchRequest
from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.errors import EvaluationError, InvalidSpace
from toolrank_evaluation.tuning.recording import Recorded
from toolrank_evaluation.tuning.search import Effort
from toolrank_evaluation.tuning.space import Choice, set_choices
from toolrank_evaluation.tuning.tune import TuneOptions
from toolrank_ingest.progress import NullProgress
from toolrank_rescorers.profiles import load_profile
from toolrank_rescorers.request import RescoreRequest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")

PLAN = Plan(profiles=("toolrank",))
CHOICES = (
    Choice("fuse", "lexical", (0.5, 2.0)),
    Choice("blend", "rank_weight", (0.0, 1.0)),
    Choice("concentrate", "confidence", (0.0, 0.95)),
    Choice("concentrate", "threshold", (0.1, 0.7)),
)


@pytest.fixture
def judged(catalog: Catalog, asks: dict[str, str], tmp_path: Path) -> Judged:
    lines = [{"query": text, "relevant": [api]} for text, api in asks.items()]
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return judged_queries(catalog, file, PLAN)


def test_a_recorded_request_answers_exactly_as_the_catalog_does(catalog: Catalog) -> None:
    base = load_profile("toolrank")
    models, _ = catalog.models.for_needs(base.needs())
    for text in ("will it rain in Paris?", "mail Bob and book a flight"):
        vector = catalog.models.query_vector(text)
        candidates = catalog.engine.search(SearchRequest(text, vector, 200))
        fetcher = EngineFetcher(catalog.engine, Filter())
        recorded = Recorded.of(
            JudgedQuery("1", text, frozenset("a")), RescoreRequest(text, candidates, vector), fetcher
        )
        for setting in itertools.product(range(2), repeat=len(CHOICES)):
            profile = set_choices(base, CHOICES, setting)
            expected = catalog.search(text, 5, profile=profile)
            found = recorded.answer(profile, models, 5)
            assert found.ids == tuple(hit.document.id for hit in expected.hits)
            assert found.scores == tuple(hit.score for hit in expected.hits)


def test_settings_are_chosen_on_some_requests_and_judged_on_others(judged: Judged) -> None:
    options = TuneOptions(effort=Effort(16, "grid"))
    tuned = tune_profile(judged, "toolrank", CHOICES, PLAN, options, NullProgress())
    report = tuned.report
    assert (report.tuned_on, report.held_out, report.tried) == (12, 6, 16)
    assert report.chosen.keys() == {choice.name for choice in CHOICES}
    assert tuned.profile.name == "toolrank-tuned"
    assert {field.name for field in report.flat} == report.chosen.keys()
    assert report.after.interval[0] <= report.after.mean <= report.after.interval[1]
    assert report.abstention is not None
    assert report.abstention.unanswerable == 6


def test_two_searches_are_the_same(judged: Judged) -> None:
    options = TuneOptions(effort=Effort(6, "grid", seed=2))
    one, other = (
        tune_profile(judged, "toolrank", CHOICES, PLAN, options, NullProgress()).report for _ in "12"
    )
    assert one == other


def test_what_cannot_be_tuned_is_refused(judged: Judged) -> None:
    with pytest.raises(InvalidSpace, match="no stage 'truncate'"):
        tune_profile(
            judged, "toolrank", [Choice("truncate", "seen", (5,))], PLAN, TuneOptions(), NullProgress()
        )
    options = TuneOptions(figure="ndgc@5", effort=Effort(2, "grid"))
    with pytest.raises(EvaluationError, match="no figure"):
        tune_profile(judged, "toolrank", CHOICES, PLAN, options, NullProgress())
    options = TuneOptions(effort=Effort(2, "grid"), held_out=0.1)
    with pytest.raises(EvaluationError, match="too few"):
        tune_profile(judged, "toolrank", CHOICES, PLAN, options, NullProgress())
