"""The gap bounds the true distance from the optimum, wherever z is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_rescorers.nnn import NnnProblem, solve_active_set
from kitpick_rescorers.nnn.active_set import Evidence, conclude
from kitpick_rescorers.nnn.problem import violation


@settings(deadline=None, max_examples=examples(300))
@given(seed=st.integers(0, 2**63), size=st.sampled_from([1e-8, 1e-3, 0.1, 1.0]))
def test_the_gap_is_an_upper_bound_of_suboptimality(oracle: Any, seed: int, size: float) -> None:
    instance = oracle.adversarial(seed)
    problem = NnnProblem(*instance)
    best = solve_active_set(problem)
    rng = np.random.default_rng(seed)
    z = np.maximum(0, oracle.dense(best, len(instance[0])) + size * rng.standard_normal(len(instance[0])))
    rows = instance[0].astype(float)
    residual = instance[1] - rows.T @ z
    evidence = Evidence(np.arange(len(z)), z, rows @ residual, residual, len(z))
    certificate = conclude(problem, evidence, tolerance=1e-6, rounds=0).certificate
    above = oracle.objective(instance, z) - oracle.objective(instance, oracle.dense(best, len(z)))
    assert above <= certificate.gap + 1e-9
    assert certificate.violation == pytest.approx(oracle.largest_violation(instance, z), rel=1e-6, abs=1e-9)


def test_nothing_chosen_and_nothing_above_is_no_violation() -> None:
    assert violation(np.zeros(0), np.zeros(0), 0.0) == 0.0
    assert violation(np.array([-1.0]), np.array([0.0]), 0.0) == 0.0


def test_a_support_row_violates_in_both_directions() -> None:
    assert violation(np.array([-0.5, 0.1]), np.array([1.0, 0.0]), 0.0) == 0.5
    assert violation(np.array([0.5, 0.1]), np.array([1.0, 0.0]), 1.0) == 0.5
