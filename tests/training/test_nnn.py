"""The way through the decoder agrees with the exact solver and with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_rescorers.nnn import NnnProblem, solve_active_set  # noqa: E402
from kitpick_training.nnn import largest_eigenvalue, margin_loss, unrolled_fista  # noqa: E402

pytestmark = pytest.mark.needs("torch")


def problem(l2):
    draw = np.random.default_rng(3).normal(size=(14, 6))
    rows = draw[:12] / np.linalg.norm(draw[:12], axis=1, keepdims=True)
    queries = draw[12:] / np.linalg.norm(draw[12:], axis=1, keepdims=True)
    exact = np.zeros((2, 12))
    for z, query in zip(exact, queries, strict=True):
        solution = solve_active_set(NnnProblem(rows, query, 0.1, l2))
        z[solution.support] = solution.coefficients
    return torch.from_numpy(rows), torch.from_numpy(queries), torch.from_numpy(exact)


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_enough_steps_reach_the_exact_solution(l2):
    documents, queries, exact = problem(l2)
    found = unrolled_fista(documents, queries, 0.1, l2, steps=4_000)
    assert torch.allclose(found, exact, atol=1e-5)


def test_gradients_are_those_of_finite_differences():
    documents, queries, _ = problem(0.5)
    inputs = (documents, queries.requires_grad_())
    assert torch.autograd.gradcheck(lambda d, q: unrolled_fista(d, q, 0.1, 0.5, steps=500), inputs)


def test_a_query_that_no_document_answers_has_no_coefficients():
    documents, queries, _ = problem(0.5)
    assert not unrolled_fista(documents, queries, 9.0, 0.5, steps=50).any()


def test_the_larger_side_does_not_matter_for_the_eigenvalue():
    tall = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    assert largest_eigenvalue(tall) == pytest.approx(largest_eigenvalue(tall.T), rel=1e-5)


def test_the_loss_falls_when_the_weakest_right_one_rises_above_the_strongest_wrong_one():
    relevant = torch.tensor([[True, True, False, False]])
    good, weak, wrong = (
        margin_loss(torch.tensor([row]), relevant)
        for row in ([0.8, 0.7, 0.1, 0.0], [0.8, 0.1, 0.1, 0.0], [0.1, 0.1, 0.8, 0.0])
    )
    assert good < weak < wrong
