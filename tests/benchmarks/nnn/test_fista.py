"""FISTA reaches the same answer, with the same certificate, by a longer way."""

from __future__ import annotations

import numpy as np
import pytest
from nnn.fista import solve_fista

from kitpick_rescorers.nnn import NnnProblem, solve_active_set


@pytest.mark.parametrize("restart", [True, False])
def test_it_agrees_with_the_exact_solver(small_problem: NnnProblem, restart: bool) -> None:
    exact = solve_active_set(small_problem)
    approximate = solve_fista(small_problem, tolerance=2e-6, restart=restart)
    assert approximate.certificate.exact
    np.testing.assert_array_equal(approximate.support, exact.support)
    np.testing.assert_allclose(approximate.coefficients, exact.coefficients, atol=1e-4)


def test_restarting_saves_steps(small_problem: NnnProblem) -> None:
    plain = solve_fista(small_problem, tolerance=2e-6, restart=False).certificate.rounds
    assert solve_fista(small_problem, tolerance=2e-6).certificate.rounds < plain


def test_a_fixed_number_of_steps_is_certified_as_what_it_is(small_problem: NnnProblem) -> None:
    few = solve_fista(small_problem, fixed_steps=5, restart=False).certificate
    many = solve_fista(small_problem, fixed_steps=50, restart=False).certificate
    assert (few.rounds, many.rounds) == (5, 50)
    assert not few.exact
    assert few.gap > many.gap > 0


def test_the_cap_on_iterations_is_kept(small_problem: NnnProblem) -> None:
    assert solve_fista(small_problem, max_iterations=7).certificate.rounds == 7


def test_a_corpus_of_zeros_has_an_answer() -> None:
    solution = solve_fista(NnnProblem(np.zeros((3, 2), np.float32), np.ones(2), 0.1, 0.0))
    assert len(solution.support) == 0
    assert solution.certificate.exact
