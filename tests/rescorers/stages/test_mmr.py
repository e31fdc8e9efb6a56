from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import CrossEncode, Mmr

QUERY = np.array([2.0, 0.0], dtype=np.float32)
VECTORS = {"a/1": (1.0, 0.0), "a/2": (0.99, 0.141), "b/1": (0.7, -0.714)}


def test_the_second_of_a_kind_waits(bench):
    state = bench.fused(list(VECTORS), VECTORS, vector=QUERY)
    assert bench.ids(bench.apply(state, Mmr(diversity=0.0))) == ["a/1", "a/2", "b/1"]
    assert bench.ids(bench.apply(state, Mmr(diversity=0.6))) == ["a/1", "b/1", "a/2"]


def test_relevance_can_be_the_calibrated_probability(bench):
    state = bench.fused(list(VECTORS), VECTORS)
    scorer = bench.scorer({"a/1": -2.0, "a/2": -3.0, "b/1": 2.0})
    after = bench.apply(state, CrossEncode(), Mmr(diversity=0.0, relevance="probability"), scorer=scorer)
    assert bench.ids(after) == ["b/1", "a/1", "a/2"]
    assert after.reasons["b/1"] == "relevance 0.88"
    assert Mmr(relevance="probability").needs() == {"scorer"}


def test_equal_candidates_keep_the_first_stage_order(bench):
    state = bench.fused(["z/1", "a/1"], vector=QUERY)
    assert bench.ids(bench.apply(state, Mmr())) == ["z/1", "a/1"]


def test_beyond_the_bound_the_order_stands(bench):
    state = bench.fused(["b/1", "a/2", "a/1"], VECTORS, vector=QUERY)
    assert bench.ids(bench.apply(state, Mmr(candidates=2))) == ["a/2", "b/1", "a/1"]


def test_needs_something_to_measure_relevance_by(bench):
    with pytest.raises(StageUnavailable, match="no usable query vector"):
        bench.apply(bench.fused(["a/1"]), Mmr())
    with pytest.raises(StageUnavailable, match="no calibrated scores"):
        bench.apply(bench.fused(["a/1"]), Mmr(relevance="probability"))
