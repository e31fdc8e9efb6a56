from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Blend, Classify

QUERY = np.array([1.0, 0.0], dtype=np.float32)


def test_the_kind_follows_the_classifiers_threshold(bench):
    state = bench.state([], vector=QUERY)
    assert bench.apply(state, Classify(), kind=bench.kind(0.5)).kind.kind == "multi"
    single = bench.apply(state, Classify(), kind=bench.kind(0.2)).kind
    assert (single.kind, single.probability_multi) == ("single", 0.2)


@pytest.mark.parametrize("answer", [float("nan"), -0.1, 1.5, "many"])
def test_an_answer_that_is_no_probability_is_refused(bench, answer):
    with pytest.raises(StageUnavailable):
        bench.apply(bench.state([], vector=QUERY), Classify(), kind=bench.kind(answer))


def test_needs_a_classifier_and_a_query_vector(bench):
    with pytest.raises(StageUnavailable, match="no classifier"):
        bench.apply(bench.state([], vector=QUERY), Classify())
    with pytest.raises(StageUnavailable, match="no usable query vector"):
        bench.apply(bench.state([]), Classify(), kind=bench.kind(0.2))


@pytest.mark.parametrize(
    ("probability", "stage", "reason"),
    [
        (0.1, Blend(when="single"), ""),
        (0.1, Blend(when="multi"), "only for multi-tool queries, this one is single"),
        (0.9, Blend(when="multi"), ""),
        (0.9, Blend(), ""),
    ],
)
def test_a_stage_can_be_gated_by_the_kind(bench, probability, stage, reason):
    state = bench.apply(
        bench.state([bench.candidate("a/1")], vector=QUERY), Classify(), kind=bench.kind(probability)
    )
    assert stage.reason_to_skip(state) == reason


def test_a_gated_stage_stays_closed_while_the_kind_is_unknown(bench):
    assert "unknown" in Blend(when="single").reason_to_skip(bench.state([]))
