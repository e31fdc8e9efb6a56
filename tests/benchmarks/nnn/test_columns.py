"""Decoding through a search for a few neighbours at a time reaches the optimum over the whole index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnn.columns import ColumnSearch, solve_by_columns
from sizes import examples

from kitpick_rescorers.nnn import InvalidProblem, NnnProblem, solve_active_set


class Index:
    """Exact search by inner product over rows, keyed by their number; it can lose some of what it finds."""

    def __init__(self, rows: np.ndarray, lost: float = 0.0) -> None:
        self.rows, self.lost, self.asked = rows, lost, []
        self.random = np.random.default_rng(0)

    def __call__(self, vector: np.ndarray, k: int) -> list[tuple[int, np.ndarray]]:
        self.asked.append(k)
        found = np.argsort(-(self.rows @ vector), kind="stable")[:k]
        return [(int(row), self.rows[row]) for row in found if self.random.uniform() >= self.lost]


@settings(deadline=None, max_examples=examples(80))
@given(seed=st.integers(0, 2**63))
def test_searching_until_nothing_is_new_solves_the_whole_index(oracle: Any, seed: int) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    if not isinstance(l1, float):
        l1 = 0.1
    how = ColumnSearch(neighbours=8, max_rounds=200)
    answer = solve_by_columns(Index(documents), query, l1, l2, how)
    assert answer.complete
    assert answer.solution.certificate.exact
    # Its gap speaks of the columns that were seen; of all others it says that none violates.
    of_all = np.zeros(len(documents))
    of_all[list(answer.support)] = np.sort(answer.solution.coefficients)[::-1]
    rounding = np.finfo(np.float32).eps * np.linalg.norm(documents, axis=1).max() * np.linalg.norm(query)
    assert oracle.largest_violation((documents, query, l1, l2), of_all) <= how.tolerance + 2 * rounding


def test_few_rounds_find_the_support(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(2_000, 64, cone=0.5)
    query = rows[[10, 500, 1500]].mean(0).astype(float)
    index = Index(rows)
    answer = solve_by_columns(index, query, 0.3, 0.1, ColumnSearch(neighbours=32))
    whole = solve_active_set(NnnProblem(rows, query, 0.3, 0.1))
    assert set(answer.support) == set(whole.support.tolist())
    assert answer.support[0] == whole.support[whole.coefficients.argmax()]
    assert (answer.rounds, answer.complete) == (len(index.asked), True)


def test_it_asks_for_as_many_more_as_are_chosen(unit_rows: Callable[..., Any]) -> None:
    index = Index(unit_rows(300, 16))
    solve_by_columns(
        index, index.rows[:4].sum(0).astype(float), 0.3, 1.0, ColumnSearch(neighbours=10, max_rounds=2)
    )
    assert index.asked[0] == 10
    assert index.asked[1] > 10


def test_out_of_rounds_it_claims_nothing(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(300, 16)
    answer = solve_by_columns(
        Index(rows), rows[:9].sum(0).astype(float), 0.01, 0.1, ColumnSearch(max_rounds=1)
    )
    assert not answer.complete


def test_an_index_that_loses_rows_gives_the_optimum_of_what_was_seen(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(500, 32)
    query = rows[:3].sum(0).astype(float)
    answer = solve_by_columns(Index(rows, lost=0.3), query, 0.2, 0.5, ColumnSearch(16, max_rounds=20))
    seen = rows[list(answer.keys)]
    again = solve_active_set(NnnProblem(seen, query, 0.2, 0.5))
    np.testing.assert_array_equal(answer.solution.support, again.support)
    assert answer.solution.certificate.exact


@pytest.mark.parametrize("query", [np.ones(4), np.full(3, np.nan)])
def test_what_defines_no_problem_is_refused(query: np.ndarray) -> None:
    with pytest.raises(InvalidProblem):
        solve_by_columns(lambda _vector, _k: [(0, np.ones(3))], query, 0.1, 0.1)
    with pytest.raises(InvalidProblem, match="nothing near"):
        solve_by_columns(lambda _vector, _k: [], query, 0.1, 0.1)
