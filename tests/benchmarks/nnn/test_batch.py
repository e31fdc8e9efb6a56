"""A batch gives what its queries give one by one, with certificates of the same worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnn.batch import solve_batch
from sizes import examples

from kitpick_rescorers.nnn import Corpus, InvalidProblem, NnnProblem, solve_active_set


@settings(deadline=None, max_examples=examples(80))
@given(seed=st.integers(0, 2**63), count=st.integers(1, 6))
def test_a_batch_of_small_problems_equals_its_members(oracle: Any, seed: int, count: int) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    l1 = l1 if isinstance(l1, float) else 0.1
    rng = np.random.default_rng(seed)
    queries = np.vstack([query, rng.standard_normal((count - 1, len(query)))])
    corpus = Corpus(documents)
    for solution, one in zip(solve_batch(corpus, queries, l1, l2), queries, strict=True):
        assert solution.certificate.exact
        alone = solve_active_set(NnnProblem(corpus, one, l1, l2))
        assert np.linalg.norm(solution.residual - alone.residual) <= oracle.reach(solution, alone)


@pytest.mark.parametrize("l1", [0.05, 0.2, 0.6])
def test_a_batch_over_a_large_corpus_equals_its_members(unit_rows: Callable[..., Any], l1: float) -> None:
    rows = unit_rows(9_000, 32)
    corpus = Corpus(rows)
    queries = np.stack([rows[i : i + 3].mean(0) for i in range(0, 60, 7)])
    for solution, query in zip(solve_batch(corpus, queries, l1, 0.1), queries, strict=True):
        assert solution.certificate.exact
        alone = solve_active_set(NnnProblem(corpus, query, l1, 0.1))
        np.testing.assert_array_equal(solution.support, alone.support)
        np.testing.assert_allclose(solution.coefficients, alone.coefficients, atol=1e-7)


def test_no_query_at_all_is_no_mistake() -> None:
    assert solve_batch(Corpus(np.eye(2, dtype=np.float32)), np.empty((0, 2)), 0.1, 0.1) == []


def test_one_bad_query_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="query"):
        solve_batch(Corpus(np.eye(2, dtype=np.float32)), np.array([[1.0, 0.0], [np.nan, 0.0]]), 0.1, 0.1)


@pytest.mark.parametrize("l1", [np.full(2, 0.1), "0.1", None])
def test_a_batch_takes_one_penalty_for_all_rows(l1: object) -> None:
    with pytest.raises(InvalidProblem, match="one number for all rows"):
        solve_batch(Corpus(np.eye(2, dtype=np.float32)), np.eye(2), l1, 0.1)
