"""Algorithm 1 of ToolRerank, worked by hand."""

from __future__ import annotations

import math

import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Concentrate, CrossEncode

SCORES = {"a/1": 0.9, "b/1": 0.8, "c/1": 0.55, "a/2": 0.5, "d/1": 0.4, "b/2": 0.1}


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


@pytest.fixture
def rank(bench):
    """Reranks the named APIs by `SCORES` and concentrates."""

    def run(stage, names=tuple(SCORES), seen=("a", "b", "c", "d"), thresholds=None, **request):
        table = {name: logit(p) for name, p in {**SCORES, "a/0": 0.99, "a/9": 0.2}.items()}
        scorer = bench.scorer(table, seen=seen, thresholds=thresholds)
        return bench.apply(bench.fused(names, **request), CrossEncode(), stage, scorer=scorer)

    return run


def test_tools_with_a_confident_api_come_first_each_list_in_order(bench, rank):
    """τ_s = 0.7: X = {a, b}; F1 = a/1 b/1 a/2 b/2; F2 = c/1 d/1."""
    after = rank(Concentrate(threshold=0.7))
    assert bench.ids(after) == ["a/1", "b/1", "a/2", "b/2", "c/1", "d/1"]
    assert after.reasons["b/2"] == "its tool is wanted: 1 has probability > 0.70"
    assert "c/1" not in after.reasons


def test_the_first_tool_is_wanted_even_without_confidence(bench, rank):
    after = rank(Concentrate(threshold=0.95))
    assert bench.ids(after) == ["a/1", "a/2", "b/1", "c/1", "d/1", "b/2"]
    assert after.reasons["a/2"] == "its tool is wanted: 1 leads the list"


def test_a_first_hit_below_the_least_probability_brings_no_tool_forward(bench, rank):
    after = rank(Concentrate(threshold=0.95, least=0.91), seen=[])
    assert bench.ids(after) == ["a/1", "b/1", "c/1", "a/2", "d/1", "b/2"]
    assert after.need.apis_of_tools == ()
    assert bench.ids(rank(Concentrate(threshold=0.95, least=0.89)))[:2] == ["a/1", "a/2"]
    assert bench.ids(rank(Concentrate(threshold=0.7, least=0.91)))[:3] == ["a/1", "b/1", "a/2"], (
        "confident ones"
    )


def test_the_threshold_itself_is_not_confident_enough(bench, rank):
    assert bench.ids(rank(Concentrate(threshold=0.9)))[:2] == ["a/1", "a/2"]


def test_the_threshold_is_the_profiles_else_the_models(bench, rank):
    assert bench.ids(rank(Concentrate(), thresholds={"concentrate": 0.95}))[:2] == ["a/1", "a/2"]
    both = rank(Concentrate(threshold=0.7), thresholds={"concentrate": 0.95})
    assert bench.ids(both)[:2] == ["a/1", "b/1"]


def test_all_apis_of_unseen_wanted_tools_are_asked_for(rank):
    assert rank(Concentrate(threshold=0.7), seen=["a"]).need.apis_of_tools == ("/b",)
    assert rank(Concentrate(threshold=0.7), seen=[]).need.apis_of_tools == ("/a", "/b")


def test_what_was_asked_for_is_sorted_in_by_score_and_not_asked_again(bench, rank):
    late = [bench.candidate("a/0"), bench.candidate("a/9")]
    after = rank(Concentrate(threshold=0.7), seen=["b"], fetched=late, complete_tools=frozenset({"/a"}))
    assert bench.ids(after) == ["a/0", "a/1", "b/1", "a/2", "a/9", "b/2", "c/1", "d/1"]
    assert after.need.apis_of_tools == ()


def test_what_was_not_scored_stays_behind(bench):
    scorer = bench.scorer({"a/1": 3.0, "b/1": -3.0}, seen=["a"])
    state = bench.fused(["a/1", "b/1", "a/2"])
    after = bench.apply(state, CrossEncode(candidates=2), Concentrate(), scorer=scorer)
    assert bench.ids(after) == ["a/1", "b/1", "a/2"]


def test_without_scores_nobody_knows_what_is_wanted(bench):
    with pytest.raises(StageUnavailable, match="no calibrated scores"):
        bench.apply(bench.fused(["a/1"]), Concentrate())
