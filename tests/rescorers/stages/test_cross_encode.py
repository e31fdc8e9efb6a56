from __future__ import annotations

import numpy as np
import pytest

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.stages import CrossEncode


def test_the_scored_come_first_by_score_and_the_rest_keep_their_order(bench):
    state = bench.fused(["t/a", "t/b", "t/c", "t/d"])
    scorer = bench.scorer({"t/a": -1.0, "t/b": 2.0})
    after = bench.apply(state, CrossEncode(candidates=2), scorer=scorer)
    assert bench.ids(after) == ["t/b", "t/a", "t/c", "t/d"]
    assert [item.logit for item in after.ranked] == [2.0, -1.0, None, None]
    assert after.reasons == {"t/b": "logit 2.00, probability 0.88", "t/a": "logit -1.00, probability 0.27"}


def test_equal_scores_keep_the_first_stage_order(bench):
    state = bench.fused(["t/b", "t/a"])
    assert bench.ids(bench.apply(state, CrossEncode(), scorer=bench.scorer({"t/a": 1, "t/b": 1}))) == [
        "t/b",
        "t/a",
    ]


def test_fetched_candidates_are_scored_beyond_the_bound_up_to_their_own(bench):
    late = [bench.candidate("t/x"), bench.candidate("t/y")]
    scorer = bench.scorer({"t/a": 0.0, "t/x": 1.0})
    after = bench.apply(
        bench.fused(["t/a", "t/b"], fetched=late), CrossEncode(candidates=1, fetched=1), scorer=scorer
    )
    assert bench.ids(after) == ["t/x", "t/a", "t/b", "t/y"]


def test_without_a_model_the_stage_is_unavailable(bench):
    with pytest.raises(StageUnavailable, match="no cross-encoder is loaded"):
        bench.apply(bench.fused(["t/a"]), CrossEncode())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bench, bad):
    with pytest.raises(StageUnavailable, match="not finite"):
        bench.apply(bench.fused(["t/a", "t/b"]), CrossEncode(), scorer=bench.scorer({"t/a": 1.0, "t/b": bad}))


def test_a_model_that_raises_is_named_with_its_error(bench):
    with pytest.raises(StageUnavailable, match="cross-encoder failed: KeyError"):
        bench.apply(bench.fused(["t/a"]), CrossEncode(), scorer=bench.scorer({}))
