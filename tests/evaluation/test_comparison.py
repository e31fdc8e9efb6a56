"""Pairs of systems: the better one is named, and chance is corrected for."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_evaluation.comparison import pair_tests
from kitpick_evaluation.errors import EvaluationError

RNG = np.random.default_rng(3)
BASE = RNG.random(60)


def system(values: np.ndarray) -> dict[str, dict[str, float]]:
    return {str(index): {"ndcg@5": float(value)} for index, value in enumerate(values)}


def test_a_real_difference_is_found_and_an_invented_one_is_not() -> None:
    figures = {"a": system(BASE), "b": system(BASE + 0.2), "c": system(BASE + RNG.normal(0, 0.1, 60))}
    found = {frozenset((test.better, test.worse)): test for test in pair_tests(figures, ["ndcg@5"], seed=0)}
    clear = found[frozenset("ab")]
    assert (clear.better, clear.wins, clear.losses) == ("b", 60, 0)
    assert clear.difference == pytest.approx(0.2)
    assert clear.interval == pytest.approx((0.2, 0.2))
    assert clear.corrected < 0.01
    assert found[frozenset("ac")].corrected > 0.05


def test_correction_counts_every_test() -> None:
    tests = pair_tests({"a": system(BASE), "b": system(BASE[::-1]), "c": system(BASE**2)}, ["ndcg@5"], seed=0)
    assert len(tests) == 2
    assert min(test.corrected for test in tests) >= 2 * min(test.p for test in tests) - 1e-12


def test_one_system_alone_has_no_tests() -> None:
    assert pair_tests({"a": system(BASE)}, ["ndcg@5"], seed=0) == ()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"there are ndcg@5"):
        pair_tests({"a": system(BASE), "b": system(BASE)}, ["recall@5"], seed=0)
    with pytest.raises(EvaluationError, match="different requests"):
        pair_tests({"a": system(BASE), "b": system(BASE[:5])}, ["ndcg@5"], seed=0)
