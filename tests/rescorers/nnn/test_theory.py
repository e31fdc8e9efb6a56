"""What the NNN paper proves, as programs: Theorem 1 and Proposition 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_rescorers.nnn import NnnProblem, solve_active_set


def penalties_of_the_proof(scores: np.ndarray, relevant: np.ndarray) -> tuple[float, float]:
    """λ1 in the middle of the gap, λ2 so large that what documents share cannot close it.

    With k relevant rows, gap 2δ and C = max score − λ1, diagonal dominance bounds every z_i by
    C / (λ2 + 2 − k); k of these stay below δ as soon as λ2 > k − 2 + k C / δ.
    """
    others = np.delete(scores, relevant)
    below = max(0.0, float(others.max(initial=0.0)))
    gap = (float(scores[relevant].min()) - below) / 2
    l1, k = below + gap, len(relevant)
    return l1, k - 1 + 2 * k * (float(scores.max()) - l1) / gap


@settings(deadline=None, max_examples=examples(200))
@given(
    seed=st.integers(0, 2**63),
    n=st.integers(1, 40),
    d=st.integers(2, 20),
    k=st.integers(1, 6),
    cone=st.booleans(),
)
def test_theorem_1_what_dense_retrieval_finds_some_penalties_find_too(
    seed: int, n: int, d: int, k: int, cone: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) + (2 * rng.standard_normal(d) if cone else 0)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    query = rng.standard_normal(d)
    query /= np.linalg.norm(query)
    scores = rows.astype(np.float64) @ query
    relevant = np.sort(np.argsort(-scores)[: min(k, n)])
    others = np.delete(scores, relevant).max(initial=0.0)
    assume(scores[relevant].min() > max(0.0, others) + 1e-4)
    solution = solve_active_set(
        NnnProblem(rows, query, *penalties_of_the_proof(scores, relevant)), tolerance=1e-9
    )
    assert solution.certificate.exact
    np.testing.assert_array_equal(solution.support, relevant)


@pytest.mark.parametrize("closeness", [0.9, 0.99, 0.9999])
def test_proposition_1_a_complement_is_found_that_dense_retrieval_cannot_find(closeness: float) -> None:
    first = np.array([1.0, 0.0, 0.0])
    twin = np.array([closeness, 0.0, np.sqrt(1 - closeness**2)])
    complement = np.array([0.0, 1.0, 0.0])
    rows = np.stack([first, twin, complement]).astype(np.float32)
    query = np.array([0.8, 0.6, 0.0])
    scores = rows.astype(np.float64) @ query
    assert scores[1] > scores[2], "dense retrieval puts the twin before the complement"
    solution = solve_active_set(NnnProblem(rows, query, l1=0.1, l2=0.0))
    assert solution.support.tolist() == [0, 2]
    assert solution.certificate.exact
