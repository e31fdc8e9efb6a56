"""The path agrees with the exact solver at every penalty, and proves each of its breakpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnn.path import Path, solve_path
from sizes import examples, sized

from kitpick_rescorers.nnn import NnnProblem, solve_active_set

SWEEP = int(sized("KITPICK_NNN_PATHS", 100, 10_000))
"""Paths of the sweep."""


@pytest.fixture
def path(small_problem: NnnProblem) -> Path:
    return solve_path(NnnProblem(small_problem.corpus, small_problem.query, 0.02, 0.05))


def assert_agrees(instance: Any, share: float, message: object = "") -> None:
    documents, query, l1, l2 = instance
    path = solve_path(NnnProblem(documents, query, l1, l2))
    assert path.exact, message
    shift = share * path.breakpoints[0].shift
    rows, coefficients = path.at(shift)
    exact = solve_active_set(NnnProblem(documents, query, l1 + shift, l2))
    # The weights are not unique at l2 = 0; what they cost is. By convexity P − P* ≤ violation · Σ|z − z*|.
    problem = NnnProblem(documents, query, l1 + shift, l2)
    costs = problem.objective(rows, coefficients), problem.objective(exact.support, exact.coefficients)
    apart = 1e-6 * (coefficients.sum() + exact.coefficients.sum())
    assert abs(costs[0] - costs[1]) <= apart + 1e-9, message


@pytest.mark.sweep
def test_random_penalties_on_the_paths_of_the_sweep(oracle: Any) -> None:
    rng = np.random.default_rng(0)
    for seed in range(SWEEP):
        assert_agrees(oracle.adversarial(seed), rng.uniform(), f"seed {seed}")


def assert_solved_at_every_breakpoint(oracle: Any, seed: int) -> int:
    """Where a row joins or leaves, both supports are optimal: the solver must stop all the same."""
    documents, query, l1, l2 = oracle.adversarial(seed)
    path = solve_path(NnnProblem(documents, query, l1, l2))
    for point in path.breakpoints:
        exact = solve_active_set(NnnProblem(documents, query, l1 + point.shift, l2))
        assert exact.certificate.exact, seed
        apart = np.linalg.norm(point.solution.residual - exact.residual)
        assert apart <= oracle.reach(exact, point.solution), seed
    return len(path.breakpoints)


@pytest.mark.sweep
def test_the_exact_solver_at_every_breakpoint_of_the_sweep(oracle: Any) -> None:
    seeds = range(0, SWEEP, 4)
    solved = sum(assert_solved_at_every_breakpoint(oracle, seed) for seed in seeds)
    assert solved > 4 * len(seeds)


@settings(deadline=None, max_examples=examples(60))
@given(seed=st.integers(0, 2**63))
def test_the_exact_solver_at_every_breakpoint(oracle: Any, seed: int) -> None:
    assert_solved_at_every_breakpoint(oracle, seed)


@settings(deadline=None, max_examples=examples(60))
@given(seed=st.integers(0, 2**63), share=st.floats(0, 1))
def test_seeds_that_hypothesis_thinks_of(oracle: Any, seed: int, share: float) -> None:
    assert_agrees(oracle.adversarial(seed), share)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.95])
def test_before_dependent_rows_change_places_the_path_is_optimal_too(oracle: Any, share: float) -> None:
    """One row is the sum of two others, and the path ends where their weights are not unique."""
    assert_agrees(oracle.adversarial(5318), share)


def test_it_starts_where_the_first_row_joins_and_ends_at_the_problem(path: Path) -> None:
    problem = path.problem
    correlations = problem.corpus.documents.astype(float) @ problem.query
    first = path.breakpoints[0]
    assert first.shift == pytest.approx(correlations.max() - problem.l1)
    assert len(first.solution.support) == 0
    assert path.order_of_joining()[0] == correlations.argmax()
    assert path.breakpoints[-1].shift == 0.0
    exact = solve_active_set(problem)
    np.testing.assert_array_equal(path.breakpoints[-1].solution.support, exact.support)
    np.testing.assert_allclose(path.breakpoints[-1].solution.coefficients, exact.coefficients, atol=1e-9)


def test_each_breakpoint_is_an_event_with_a_certificate(path: Path) -> None:
    sizes = [len(point.solution.support) for point in path.breakpoints]
    shifts = [point.shift for point in path.breakpoints]
    assert shifts == sorted(shifts, reverse=True)
    assert sizes[-1] == sum(point.joins for point in path.breakpoints) - sum(
        point.row >= 0 and not point.joins for point in path.breakpoints
    )
    assert all(point.solution.certificate.exact for point in path.breakpoints)
    assert path.exact


def test_above_the_path_nothing_is_chosen_and_below_it_the_last(path: Path) -> None:
    assert len(path.at(path.breakpoints[0].shift + 0.1)[0]) == 0
    np.testing.assert_array_equal(path.at(0.0)[0], path.breakpoints[-1].solution.support)


def test_a_query_that_nothing_explains_has_a_path_of_one_point() -> None:
    path = solve_path(NnnProblem(np.eye(2, dtype=np.float32), np.array([-1.0, -1.0]), 0.1, 0.0))
    assert [point.shift for point in path.breakpoints] == [0.0]
    assert path.exact
    assert len(path.order_of_joining()) == 0


def test_rows_beyond_the_first_working_set_are_found(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(3_000, 32)
    query = rows[:6].sum(0).astype(float)
    path = solve_path(NnnProblem(rows, query, 0.05, 0.1))
    assert path.exact
    exact = solve_active_set(NnnProblem(rows, query, 0.05, 0.1))
    np.testing.assert_array_equal(path.at(0.0)[0], exact.support)
