"""What screening leaves out is never chosen, however far from the optimum it looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnn.fista import solve_fista
from nnn.screening import may_be_chosen
from sizes import examples

from kitpick_rescorers.nnn import NnnProblem, solve_active_set


@settings(deadline=None, max_examples=examples(200))
@given(seed=st.integers(0, 2**63), distance=st.sampled_from([0.0, 1e-6, 1e-2, 1.0]))
def test_every_row_of_the_optimum_is_kept(oracle: Any, seed: int, distance: float) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    problem = NnnProblem(documents, query, l1, l2)
    exact = solve_active_set(problem, tolerance=1e-10)
    z = oracle.dense(exact, len(documents))
    z = np.maximum(0.0, z + distance * np.random.default_rng(seed).standard_normal(len(z)))
    assert may_be_chosen(problem, z)[exact.support].all()


def test_near_the_optimum_only_few_rows_are_left(small_problem: NnnProblem) -> None:
    exact = solve_active_set(small_problem)
    z = np.zeros(small_problem.corpus.rows)
    assert may_be_chosen(small_problem, z).sum() > len(exact.support)
    z[exact.support] = exact.coefficients
    np.testing.assert_array_equal(np.flatnonzero(may_be_chosen(small_problem, z)), exact.support)


def test_without_a_penalty_nothing_is_known(small_problem: NnnProblem) -> None:
    free = NnnProblem(small_problem.corpus, small_problem.query, 0.0, 0.1)
    assert may_be_chosen(free, np.zeros(free.corpus.rows)).all()


@settings(deadline=None, max_examples=examples(30))
@given(seed=st.integers(0, 2**63))
def test_fista_comes_to_the_same_answer_with_fewer_rows(oracle: Any, seed: int) -> None:
    documents, query, _l1, l2 = oracle.adversarial(seed)
    problem = NnnProblem(documents, query, 0.1, max(l2, 0.1))
    plain = solve_fista(problem, tolerance=2e-6, max_iterations=3_000)
    screened = solve_fista(problem, tolerance=2e-6, max_iterations=3_000, screening=True)
    if plain.certificate.exact:
        # It stops by products in float32, which round otherwise for fewer rows than the certificate's do.
        assert screened.certificate.violation <= 1.1 * 2e-6
        np.testing.assert_allclose(screened.residual, plain.residual, atol=1e-4)


@pytest.mark.parametrize("l1", [0.05, np.linspace(0.05, 0.2, 60)])
def test_penalties_per_row_follow_their_rows(small_problem: NnnProblem, l1: Any) -> None:
    problem = NnnProblem(small_problem.corpus, small_problem.query, l1, 0.05)
    screened = solve_fista(problem, tolerance=2e-6, screening=True)
    np.testing.assert_array_equal(screened.support, solve_active_set(problem).support)
    assert screened.certificate.exact
