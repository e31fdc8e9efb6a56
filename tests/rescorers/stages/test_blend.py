from __future__ import annotations

from math import isclose, log

import numpy as np
import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Blend, CrossEncode


def test_is_the_standardised_logit_minus_the_logarithm_of_the_rank(bench):
    logits = {"t/a": -2.0, "t/b": 0.5, "t/c": 3.0}
    after = bench.apply(
        bench.fused(list(logits)), CrossEncode(), Blend(rank_weight=0.5), scorer=bench.scorer(logits)
    )
    z = (np.array(list(logits.values())) - np.mean(list(logits.values()))) / np.std(list(logits.values()))
    expected = {name: z[i] - 0.5 * log(i + 1) for i, name in enumerate(logits)}
    assert {item.id: pytest.approx(item.score) for item in after.ranked} == expected
    assert bench.ids(after) == sorted(expected, key=expected.__getitem__, reverse=True)


def test_a_model_that_is_at_a_loss_has_less_say(bench):
    logits = {"t/a": -4.0, "t/b": -2.0}
    scorer = bench.scorer(logits)
    unsure = bench.apply(bench.fused(list(logits)), CrossEncode(), Blend(full_trust=0.5), scorer=scorer)
    best = max(item.probability for item in unsure.ranked)
    assert best < 0.5
    scores = {item.id: item.score for item in unsure.ranked}
    assert scores == {"t/a": pytest.approx(-best / 0.5), "t/b": pytest.approx(best / 0.5 - log(2))}
    assert bench.ids(unsure) == ["t/a", "t/b"]
    sure = bench.apply(bench.fused(list(logits)), CrossEncode(), Blend(full_trust=best), scorer=scorer)
    assert bench.ids(sure) == ["t/b", "t/a"]


def test_a_model_that_finds_everything_impossible_has_no_say(bench, monkeypatch):
    scorer = bench.scorer({"t/a": -9.0, "t/b": -8.0})
    monkeypatch.setattr(scorer, "probability", np.zeros_like)
    after = bench.apply(bench.fused(["t/a", "t/b"]), CrossEncode(), Blend(full_trust=0.5), scorer=scorer)
    assert {item.id: item.score for item in after.ranked} == {"t/a": 0.0, "t/b": -log(2)}


def test_equal_logits_leave_the_first_stage_order(bench):
    after = bench.apply(
        bench.fused(["t/b", "t/a"]), CrossEncode(), Blend(), scorer=bench.scorer({"t/a": 3.0, "t/b": 3.0})
    )
    assert bench.ids(after) == ["t/b", "t/a"]
    assert after.ranked[0].score == 0.0


def test_what_is_fetched_later_does_not_move_the_scale(bench):
    logits = {"t/a": 1.0, "t/b": 3.0, "t/late": 50.0}
    before = bench.apply(bench.fused(["t/a", "t/b"]), CrossEncode(), Blend(), scorer=bench.scorer(logits))
    state = bench.fused(["t/a", "t/b"], fetched=[bench.candidate("t/late")])
    after = bench.apply(state, CrossEncode(), Blend(), scorer=bench.scorer(logits))
    scores = {item.id: item.score for item in after.ranked}
    assert all(isclose(scores[item.id], item.score) for item in before.ranked)
    assert isclose(scores["t/late"], (50.0 - 2.0) / 1.0 - log(3))


def test_a_share_of_a_score_is_that_of_the_best_of_the_tool(bench):
    logits = {"t/a": 2.0, "u/b": 1.0, "t/c": 0.0}
    alone = bench.apply(bench.fused(list(logits)), CrossEncode(), Blend(), scorer=bench.scorer(logits))
    before = {item.id: item.score for item in alone.ranked}
    after = bench.apply(
        bench.fused(list(logits)), CrossEncode(), Blend(tool_share=0.75), scorer=bench.scorer(logits)
    )
    expected = before | {"t/c": 0.25 * before["t/c"] + 0.75 * before["t/a"]}
    assert {item.id: pytest.approx(item.score) for item in after.ranked} == expected
    assert bench.ids(alone) == ["t/a", "u/b", "t/c"]
    assert bench.ids(after) == ["t/a", "t/c", "u/b"]
    assert "for the best of its tool" in after.reasons["t/c"]
    assert "for the best of its tool" not in after.reasons["t/a"]


def test_the_unscored_follow_in_their_order(bench):
    after = bench.apply(
        bench.fused(["t/a", "t/b", "t/c"]),
        CrossEncode(candidates=1),
        Blend(),
        scorer=bench.scorer({"t/a": -9.0}),
    )
    assert bench.ids(after) == ["t/a", "t/b", "t/c"]


def test_without_scores_there_is_nothing_to_blend(bench):
    with pytest.raises(StageUnavailable, match="no cross-encoder scores"):
        bench.apply(bench.fused(["t/a"]), Blend())


NEAR = {"t/a": (0.0, 1.0), "t/b": (0.6, 0.8), "t/c": (1.0, 0.0)}
"""Vectors of candidates in first-stage order; the request's is that of the last."""
UNSURE = dict.fromkeys(NEAR, -3.0)


def test_vectors_have_what_an_unsure_model_leaves(bench):
    state = bench.fused(list(NEAR), NEAR, vector=np.array([1.0, 0.0], np.float32))
    stage = Blend(rank_weight=0.5, full_trust=0.5, dense=2.0)
    after = bench.apply(state, CrossEncode(), stage, scorer=bench.scorer(UNSURE))
    trust = after.ranked[0].probability / 0.5
    cosines = np.array([0.0, 0.6, 1.0])
    z = (1 - trust) * 2.0 * (cosines - cosines.mean()) / cosines.std()
    expected = {name: z[i] - 0.5 * log(i + 1) for i, name in enumerate(NEAR)}
    assert {item.id: pytest.approx(item.score, abs=1e-6) for item in after.ranked} == expected
    assert bench.ids(after) == ["t/c", "t/b", "t/a"]
    assert "by its vector" in after.reasons["t/c"]
    assert stage.needs() == {"vector"}
    assert not Blend().needs()


@pytest.mark.parametrize(
    ("logit", "vector"), [(3.0, np.array([1.0, 0.0], np.float32)), (-3.0, None)], ids=["sure", "no vector"]
)
def test_vectors_change_nothing_where_the_model_is_sure_or_the_request_has_none(bench, logit, vector):
    state, scorer = bench.fused(list(NEAR), NEAR, vector=vector), bench.scorer(dict.fromkeys(NEAR, logit))
    after = bench.apply(state, CrossEncode(), Blend(full_trust=0.5, dense=2.0), scorer=scorer)
    without = bench.apply(state, CrossEncode(), Blend(full_trust=0.5), scorer=scorer)
    assert [(item.id, item.score) for item in after.ranked] == [
        (item.id, item.score) for item in without.ranked
    ]
    assert after.reasons == without.reasons


def test_a_candidate_without_a_vector_is_as_near_as_the_others_are_in_the_mean(bench):
    vectors = {"t/a": (0.8, 0.6), "t/b": (0.0, 0.0), "t/c": (1.0, 0.0)}
    state = bench.fused(list(vectors), vectors, vector=np.array([1.0, 0.0], np.float32))
    stage = Blend(rank_weight=0.0, full_trust=1.0, dense=1.0)
    after = bench.apply(state, CrossEncode(), stage, scorer=bench.scorer(UNSURE))
    assert bench.ids(after) == ["t/c", "t/b", "t/a"]
    assert after.ranked[1].score == pytest.approx(0.0, abs=1e-6)
