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
