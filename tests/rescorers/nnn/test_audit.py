"""No bound excludes a row that violates, and the certificate counts what it covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_rescorers.nnn import NnnProblem, solve_active_set
from kitpick_rescorers.nnn.active_set import Audit, excluded_below


@settings(deadline=None, max_examples=examples(300))
@given(seed=st.integers(0, 2**63), closeness=st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0]))
def test_what_the_bound_excludes_is_below_its_penalty(oracle: Any, seed: int, closeness: float) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    problem = NnnProblem(documents, query, l1, l2)
    residual = query + closeness * np.random.default_rng(seed).standard_normal(len(query))
    excluded = problem.corpus.scan(query) <= excluded_below(problem, query, residual)
    correlations = documents.astype(float) @ residual
    assert (correlations[excluded] <= np.broadcast_to(l1, len(documents))[excluded] + 1e-12).all()


@settings(deadline=None, max_examples=examples(300))
@given(seed=st.integers(0, 2**63), closeness=st.sampled_from([0.0, 1e-3, 0.1]))
def test_every_violator_is_a_suspect(oracle: Any, seed: int, closeness: float) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    audit = Audit(NnnProblem(documents, query, l1, l2))
    residual = query + closeness * np.random.default_rng(seed).standard_normal(len(query))
    audit.scan(query)
    violators = np.flatnonzero(documents.astype(float) @ residual > l1)
    assert set(violators.tolist()) <= set(audit.suspects(residual, np.empty(0, np.intp)).rows.tolist())


def test_known_rows_are_no_suspects() -> None:
    audit = Audit(NnnProblem(np.eye(3, dtype=np.float32), np.ones(3), 0.1, 0.0))
    found = audit.suspects(np.ones(3), np.array([1]))
    assert found.rows.tolist() == [0, 2]
    assert found.checked == 3


def test_one_scan_certifies_a_sparse_answer(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(3_000, 64, cone=0.0)
    solution = solve_active_set(NnnProblem(rows, rows[5].astype(float), 0.5, 0.1))
    certificate = solution.certificate
    assert certificate.exact
    assert certificate.checked_rows + certificate.excluded_rows == certificate.rows == 3_000
    assert certificate.checked_rows < 600


def test_zero_vectors_exclude_nothing_they_should_not() -> None:
    rows = np.eye(2, dtype=np.float32)
    problem = NnnProblem(rows, np.zeros(2), 0.1, 0.1)
    assert excluded_below(problem, np.zeros(2), np.ones(2)) == -np.inf
    assert excluded_below(problem, np.ones(2), np.zeros(2)) == np.inf
    bonus = NnnProblem(rows, np.zeros(2), np.array([-0.1, 0.1]), 0.1)
    np.testing.assert_array_equal(excluded_below(bonus, np.ones(2), np.zeros(2)), [-np.inf, np.inf])
    assert solve_active_set(bonus).support.tolist() == [0]


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_rows_of_any_length_are_certified_by_their_true_length(
    unit_rows: Callable[..., Any], scale: float
) -> None:
    rows = unit_rows(500, 24) * np.float32(scale)
    problem = NnnProblem(rows, rows[3].astype(float) / scale, 0.3 * scale, 0.1 * scale**2)
    assert solve_active_set(problem).certificate.exact
