"""Whether a system knows that it does not know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from kitpick_evaluation.abstention import abstention_quality, auc, threshold_for
from kitpick_evaluation.answer import Answer

LEVELS = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9]), min_size=1, max_size=20)


def sure(probability: float, abstained: bool = False) -> Answer:
    return Answer(ids=("a",), probabilities=(probability,), abstained=abstained)


def test_rates_count_each_kind_of_request() -> None:
    found = abstention_quality(
        "p", [sure(0.9), sure(0.1, True), sure(0.8), sure(0.7)], [sure(0.05, True), sure(0.3)]
    )
    assert (found.answerable, found.unanswerable) == (4, 2)
    assert found.false_alarms == 0.25
    assert found.caught == 0.5
    assert found.precision == 0.5
    assert found.auc == 7 / 8


def test_never_abstaining_is_never_wrong() -> None:
    assert abstention_quality("p", [sure(0.5)], [sure(0.5)]).precision == 1.0


def test_both_kinds_are_needed() -> None:
    with pytest.raises(ValueError, match="missing"):
        abstention_quality("p", [sure(0.5)], [])


@pytest.mark.parametrize(("most_false", "expected"), [(0.0, 0.1), (0.25, 0.3), (0.5, 0.5), (1.0, 0.99)])
def test_the_threshold_is_the_highest_that_false_alarms_allow(most_false: float, expected: float) -> None:
    answered = [sure(0.1), sure(0.3), sure(0.5), sure(0.9)]
    assert threshold_for(answered, most_false) == expected


@given(LEVELS, LEVELS)
def test_the_area_agrees_with_another_library(positives: list[float], negatives: list[float]) -> None:
    truth = [1] * len(positives) + [0] * len(negatives)
    assert auc(positives, negatives) == pytest.approx(roc_auc_score(truth, positives + negatives), abs=1e-9)
