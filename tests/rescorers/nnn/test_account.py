"""What an explanation says of an answer adds up, and names who gave way to whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_rescorers.nnn import NnnProblem, account, solve_active_set


@settings(deadline=None, max_examples=examples(100))
@given(seed=st.integers(0, 2**63))
def test_shares_add_up_to_what_is_explained(oracle: Any, seed: int) -> None:
    problem = NnnProblem(*oracle.adversarial(seed))
    solution = solve_active_set(problem)
    told = account(problem, solution)
    explained = problem.query @ (problem.query - solution.residual)
    energy = problem.query @ problem.query or 1.0
    assert told.shares.sum() == pytest.approx(explained / energy, abs=1e-9)
    assert (told.shortfalls[solution.support] <= 1e-6).all()
    assert not set(told.next_in_line.tolist()) & set(np.flatnonzero(told.shares).tolist())


def test_a_near_duplicate_gives_way_to_the_row_it_repeats() -> None:
    rows = np.array([[1, 0, 0], [0.96, 0, 0.28], [0, 1, 0], [0, 0, -1]], dtype=np.float32)
    problem = NnnProblem(rows, np.array([0.8, 0.6, 0.0]), l1=0.1, l2=0.0)
    told = account(problem, solve_active_set(problem))
    np.testing.assert_allclose(told.shares, [0.7 * 0.8, 0, 0.5 * 0.6, 0], atol=1e-6)
    assert told.gave_way_to.tolist() == [-1, 0, -1, -1]
    assert told.cosines[1] == pytest.approx(0.96, abs=1e-6)
    assert told.next_in_line.tolist() == [1, 3]


def test_nobody_gives_way_where_nothing_is_chosen() -> None:
    problem = NnnProblem(np.eye(2, dtype=np.float32), np.zeros(2), 0.1, 0.1)
    told = account(problem, solve_active_set(problem))
    assert told.gave_way_to.tolist() == [-1, -1]
    assert not told.shares.any()
