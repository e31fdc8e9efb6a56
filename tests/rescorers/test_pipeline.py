from __future__ import annotations

import time

import numpy as np
import pytest

from kitpick_engines.contract import Candidate, Place
from kitpick_rescorers.errors import InvalidRequest
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.stages import Blend, Classify, CrossEncode, Fuse


@pytest.fixture
def three(bench) -> list[Candidate]:
    return [
        bench.candidate("weather/now", lexical=1, dense=2),
        bench.candidate("weather/week", lexical=2, dense=3),
        bench.candidate("maps/route", lexical=3, dense=1),
    ]


def test_hits_carry_rank_score_and_what_each_stage_saw(bench, three):
    models = Models(scorer=bench.scorer({"weather/now": 0.0, "weather/week": 3.0, "maps/route": -3.0}))
    answer = rescore(RescoreRequest("will it rain", three, k=2), load_profile("rerank"), models)
    assert [(hit.id, hit.rank) for hit in answer.results] == [("weather/week", 1), ("weather/now", 2)]
    assert answer.results[0].reasons == (
        "fuse: lexical rank 2 + dense rank 3",
        "cross_encode: logit 3.00, probability 0.95",
    )
    assert set(answer.timings) == {"fuse", "cross_encode"}


def test_no_hit_is_surer_than_one_above_it(bench, three):
    """Blend puts the first candidate of the first stage above one that the cross-encoder finds likelier."""
    scores = {"weather/now": -1.0, "weather/week": 0.0, "maps/route": -9.0}
    profile = Profile("p", (Fuse(), CrossEncode(), Blend(rank_weight=50.0)))
    models = Models(scorer=bench.scorer(scores))
    alone = rescore(RescoreRequest("q", three), load_profile("rerank"), models)
    week, now, route = (hit.probability for hit in alone.results)
    hits = rescore(RescoreRequest("q", three), profile, models).results
    assert [hit.id for hit in hits] == ["weather/now", "maps/route", "weather/week"]
    assert [hit.probability for hit in hits] == pytest.approx([now, (route + week) / 2, (route + week) / 2])


def test_a_failing_model_degrades_the_answer_and_the_order_stands(bench, three):
    request = RescoreRequest("q", three)
    answer = rescore(request, load_profile("rerank"), Models(scorer=bench.scorer({})))
    plain = rescore(request, load_profile("hybrid"), Models())
    assert [hit.id for hit in answer.results] == [hit.id for hit in plain.results]
    assert [item.stage for item in answer.degraded] == ["cross_encode"]
    assert "KeyError" in answer.degraded[0].reason
    assert answer.trace[-1].skipped == answer.degraded[0].reason


def test_missing_models_and_vector_leave_every_stage_out_but_the_first(three):
    profile = Profile("p", (Fuse(), CrossEncode(), Blend(), Classify()))
    answer = rescore(RescoreRequest("q", three), profile, Models())
    assert [item.stage for item in answer.degraded] == ["cross_encode", "blend", "classify"]
    assert len(answer.results) == 3


def test_a_closed_gate_is_no_degradation(three):
    answer = rescore(RescoreRequest("q", three), Profile("p", (Fuse(), Blend(when="single"))), Models())
    assert answer.degraded == ()
    assert "unknown" in answer.trace[-1].skipped
    assert answer.trace[-1].milliseconds == 0.0


def test_a_stage_says_how_many_milliseconds_it_took(three):
    started = time.perf_counter()
    answer = rescore(RescoreRequest("q", three), load_profile("hybrid"), Models())
    most = (time.perf_counter() - started) * 1e3
    assert 0.0 < answer.trace[0].milliseconds <= most


@pytest.mark.parametrize("k", [0, 1, 3, 100])
def test_k_bounds_the_answer(three, k):
    answer = rescore(RescoreRequest("q", three, k=k), load_profile("hybrid"), Models())
    assert len(answer.results) == min(k, 3)


@pytest.mark.parametrize("profile", ["bm25", "dense", "hybrid", "rerank"])
def test_no_candidates_no_hits(bench, profile):
    answer = rescore(RescoreRequest("q", []), load_profile(profile), Models(scorer=bench.scorer({})))
    assert (answer.results, answer.degraded) == ((), ())


def test_the_same_id_twice_is_one_candidate_with_both_places(bench):
    twice = [
        bench.candidate("t/a", lexical=4),
        bench.candidate("t/a", dense=2),
        bench.candidate("t/a", lexical=7),
    ]
    answer = rescore(RescoreRequest("q", twice), load_profile("hybrid"), Models())
    assert [hit.reasons for hit in answer.results] == [("fuse: lexical rank 4 + dense rank 2",)]


def test_a_fetched_document_that_was_a_candidate_stays_the_candidate(bench, three):
    late = [bench.candidate("maps/route", dense=1), bench.candidate("maps/traffic", dense=1)]
    answer = rescore(RescoreRequest("q", three, fetched=late), load_profile("hybrid"), Models())
    assert [hit.id for hit in answer.results][-1] == "maps/traffic"
    assert len(answer.results) == 4


@pytest.mark.parametrize("vector", [[np.nan, 0.0], [0.0, 0.0], [[1.0, 0.0]], [np.inf, 1.0], []])
def test_an_unusable_query_vector_is_ignored_and_named(three, vector):
    answer = rescore(RescoreRequest("q", three, vector=np.array(vector)), load_profile("hybrid"), Models())
    assert [item.stage for item in answer.degraded] == ["request"]
    assert len(answer.results) == 3


def test_requests_that_make_no_sense_are_refused(bench, three):
    hybrid = load_profile("hybrid")
    with pytest.raises(InvalidRequest, match="k is -1"):
        rescore(RescoreRequest("q", three, k=-1), hybrid, Models())
    with pytest.raises(InvalidRequest, match="at most 1,000,000"):
        rescore(RescoreRequest("q" * 1_000_001, three), hybrid, Models())
    with pytest.raises(InvalidRequest, match="at most 10,000"):
        rescore(RescoreRequest("q", three * 4_000), hybrid, Models())
    wrong = Candidate("t/a", "", "t", "a", "", np.zeros(2, dtype=np.float32), lexical=Place(0, 1.0))
    with pytest.raises(InvalidRequest, match="ranks count from 1"):
        rescore(RescoreRequest("q", [wrong]), hybrid, Models())


def test_models_see_less_of_a_request_than_the_rules_read():
    request = RescoreRequest("halt instances without terminating them", [])
    assert opening_state(request).query == request.reading.embedded == "halt instances"
    assert request.reading.ruled_out == ("without terminating them",)
