"""A penalty per query: where the path has so many rows, or where more brings little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnn.path_penalties import shift_of_residual_drop, shift_of_support
from sizes import examples

from kitpick_rescorers.nnn import NnnProblem, Path, solve_active_set, solve_path


@pytest.fixture
def axes() -> Path:
    """Orthonormal rows: z_i = c_i − l1, so the i-th of them joins where l1 = c_i."""
    return solve_path(NnnProblem(np.eye(3, dtype=np.float32), np.array([0.8, 0.5, 0.1]), 0.0, 0.0))


@pytest.mark.parametrize(("size", "shift"), [(1, 0.5), (2, 0.1), (3, 0.0), (9, 0.0)])
def test_a_support_size_is_kept_until_the_next_row_joins(axes: Path, size: int, shift: float) -> None:
    assert shift_of_support(axes, size) == pytest.approx(shift)
    assert len(axes.at(shift_of_support(axes, size))[0]) == min(size, 3)


@settings(deadline=None, max_examples=examples(80))
@given(seed=st.integers(0, 2**63), size=st.integers(1, 6))
def test_nowhere_before_are_there_as_many(oracle: Any, seed: int, size: int) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    path = solve_path(NnnProblem(documents, query, l1, l2))
    shift = shift_of_support(path, size)
    assert 0 <= shift <= path.breakpoints[0].shift
    before = [point for point in path.breakpoints if point.shift > shift]
    assert all(len(point.solution.support) < size for point in before)


def test_the_drop_of_the_residual_ends_the_path_where_it_becomes_slow(axes: Path) -> None:
    """With k rows ‖r‖² falls at 2k·l1: between 0.5 and 0.1 by 2·(0.25 − 0.01), then by 3·0.01."""
    energy = 0.9
    middle, last = 2 * 0.24 / 0.4 / energy, 3 * 0.01 / 0.1 / energy
    assert shift_of_residual_drop(axes, middle * 1.001) == pytest.approx(0.5)
    assert shift_of_residual_drop(axes, middle * 0.999) == pytest.approx(0.1)
    assert shift_of_residual_drop(axes, last * 1.001) == pytest.approx(0.1)
    assert shift_of_residual_drop(axes, last * 0.999) == 0.0


def test_a_query_that_nothing_explains_is_left_at_its_own_penalty() -> None:
    path = solve_path(NnnProblem(np.eye(2, dtype=np.float32), np.array([-1.0, -1.0]), 0.1, 0.0))
    assert shift_of_support(path, 3) == 0.0
    assert shift_of_residual_drop(path, 0.1) == 0.0


def test_a_penalty_chosen_on_the_path_gives_the_set_that_the_path_shows(small_problem: NnnProblem) -> None:
    path = solve_path(NnnProblem(small_problem.corpus, small_problem.query, 0.02, 0.05))
    shift = shift_of_support(path, 5)
    exact = solve_active_set(NnnProblem(small_problem.corpus, small_problem.query, 0.02 + shift, 0.05))
    np.testing.assert_array_equal(exact.support, path.at(shift)[0])
    assert len(exact.support) == 5
