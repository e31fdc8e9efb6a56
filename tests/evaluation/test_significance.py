"""Randomisation tests agree with another library, and correcting never makes a difference out of nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from kitpick_evaluation.significance import holm, randomisation_test

P_VALUES = st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3])
def test_p_values_agree_with_scipy(shift: float) -> None:
    differences = np.random.default_rng(4).normal(shift, 0.5, size=40)
    theirs = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=10_000,
        alternative="two-sided",
        rng=np.random.default_rng(5),
    ).pvalue
    assert randomisation_test(differences, seed=6) == pytest.approx(theirs, abs=0.02)


def test_the_exact_distribution_of_few_requests_is_met() -> None:
    # Of the 2^4 sign patterns of (1, 1, 1, 1) two reach |sum| = 4.
    assert randomisation_test(np.ones(4), seed=0, permutations=100_000) == pytest.approx(2 / 16, abs=0.005)


def test_systems_that_agree_do_not_differ() -> None:
    assert randomisation_test(np.zeros(50), seed=0) == 1.0


def test_a_clear_difference_has_the_smallest_p_value() -> None:
    assert randomisation_test(np.full(100, 0.1), seed=0) == pytest.approx(1 / 10_001)


def test_the_order_of_the_systems_does_not_matter() -> None:
    differences = np.random.default_rng(1).normal(0.1, 1, size=30)
    assert randomisation_test(differences, seed=3) == randomisation_test(-differences, seed=3)


def test_under_the_null_hypothesis_p_values_are_spread_evenly() -> None:
    rng = np.random.default_rng(7)
    p = [randomisation_test(rng.normal(0, 1, size=25), seed, permutations=500) for seed in range(300)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.04)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES)
def test_correcting_keeps_the_order_and_never_lowers(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= c <= 1.0 for p, c in zip(p_values, corrected, strict=True))
    assert [c for _, c in sorted(zip(p_values, corrected, strict=True))] == sorted(corrected)
    assert max(corrected) <= min(1.0, len(p_values) * max(p_values))
