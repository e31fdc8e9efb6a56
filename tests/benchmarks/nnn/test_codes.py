"""Eight bits decide only what they can decide: no row is lost, and every answer is proved as without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnn.batch import solve_batch
from nnn.codes import Codes
from sizes import examples

from kitpick_rescorers.nnn import Corpus, NnnProblem, active_set, solve_active_set

pytestmark = pytest.mark.needs("onnxruntime")


@settings(deadline=None, max_examples=examples(150))
@given(seed=st.integers(0, 2**63), scale=st.sampled_from([1e-12, 1e-3, 1.0, 1e6]))
def test_no_correlation_is_further_off_than_it_says(oracle: Any, seed: int, scale: float) -> None:
    documents, query, _l1, _l2 = oracle.adversarial(seed)
    rows = documents * np.float32(scale)
    coded = Codes(rows).scan(query)
    exact = rows.astype(float) @ query
    assert (np.abs(coded.correlations - exact) <= coded.error).all()
    floors = exact + np.random.default_rng(seed).uniform(-1, 1, len(exact)) * coded.error
    assert set(np.flatnonzero(exact > floors).tolist()) <= set(coded.above(floors).tolist())
    for floor in (float(np.median(exact)), float(exact.max()), -1e300, 1e300, 0.0):
        assert set(np.flatnonzero(exact > floor).tolist()) <= set(coded.above(floor).tolist())


def test_unit_rows_are_off_by_a_hundredth(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(500, 384)
    assert Codes(rows).scan(rows[0].astype(float)).error < 0.03


def test_nothing_and_zeros_are_coded_exactly() -> None:
    coded = Codes(np.zeros((3, 2), np.float32)).scan(np.zeros(2))
    assert coded.correlations.tolist() == [0, 0, 0]
    assert coded.error == 0.0
    assert coded.above(-0.1).tolist() == [0, 1, 2]
    assert coded.above(0.0).tolist() == []


@pytest.fixture
def tiny_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that problems of a few rows have a corpus beyond the pool."""
    monkeypatch.setattr(active_set, "POOL_ROWS", 6)
    monkeypatch.setattr(active_set, "_FIRST_ROWS", 3)
    monkeypatch.setattr("nnn.batch.POOL_ROWS", 6)


@pytest.mark.usefixtures("tiny_pools")
def test_adversarial_problems_are_solved_through_codes(oracle: Any) -> None:
    for seed in range(400):
        documents, query, l1, l2 = instance = oracle.adversarial(seed)
        corpus = Corpus(documents, Codes)
        solution = solve_active_set(NnnProblem(corpus, query, l1, l2))
        proof = solution.certificate
        assert proof.exact, seed
        z = oracle.dense(solution, len(documents))
        assert oracle.largest_violation(instance, z) == pytest.approx(proof.violation, abs=1e-8), seed
        if isinstance(l1, float):
            (together,) = solve_batch(corpus, query[None], l1, l2)
            assert together.certificate.exact, seed
            z = oracle.dense(together, len(documents))
            assert oracle.largest_violation(instance, z) <= 1.01e-6, seed


@pytest.mark.parametrize("l1", [0.05, 0.3])
def test_codes_change_the_way_and_not_the_answer(unit_rows: Callable[..., Any], l1: float) -> None:
    rows = unit_rows(6_000, 48)
    query = rows[10].astype(float) + rows[700] + rows[1500]
    plain = solve_active_set(NnnProblem(rows, query, l1, 0.1))
    coded = solve_active_set(NnnProblem(Corpus(rows, Codes), query, l1, 0.1))
    np.testing.assert_array_equal(plain.support, coded.support)
    np.testing.assert_allclose(plain.coefficients, coded.coefficients, atol=1e-9)
    assert coded.certificate.exact
    assert coded.certificate.checked_rows < 1_500, "and reads little of the corpus"
