"""The exact solver against its own certificate, scikit-learn, and every subset."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples, sized
from sklearn.linear_model import ElasticNet

from kitpick_foundation.deadline import Deadline
from kitpick_rescorers.nnn import NnnProblem, active_set, solve_active_set

TOLERANCE = 1e-6
SWEEP = int(sized("KITPICK_NNN_PROBLEMS", 400, 100_000))
"""Problems of the sweep."""


def assert_optimal(oracle: Any, instance: Any, message: object = "") -> None:
    documents, query, l1, l2 = instance
    solution = solve_active_set(NnnProblem(documents, query, l1, l2), tolerance=TOLERANCE)
    certificate, z = solution.certificate, oracle.dense(solution, len(documents))
    assert certificate.exact, message
    assert (solution.coefficients > 0).all(), message
    assert (np.diff(solution.support) > 0).all(), message
    # What it says of itself is what an independent look finds.
    assert oracle.largest_violation(instance, z) == pytest.approx(certificate.violation, abs=1e-8), message
    assert certificate.gap < 1e-5 or (l2 == 0 and np.min(l1) == 0), message
    np.testing.assert_allclose(solution.residual, query - documents.astype(float).T @ z, atol=1e-9)


@pytest.mark.sweep
def test_every_problem_of_the_sweep_is_solved_within_tolerance(oracle: Any) -> None:
    for seed in range(SWEEP):
        assert_optimal(oracle, oracle.adversarial(seed), f"seed {seed}")


def test_a_look_after_every_round_changes_no_digit(oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties, twins and dependent rows among them: who goes on after a look knows what was refused before."""
    monkeypatch.setattr(active_set, "_UNSEEN_ROUNDS", 1)
    for seed in range(300):
        problem = NnnProblem(*oracle.adversarial(seed))
        alone = solve_active_set(problem, tolerance=TOLERANCE)
        looked = solve_active_set(problem, tolerance=TOLERANCE, deadline=Deadline(600))
        assert looked.certificate == alone.certificate, seed
        for name in ("support", "coefficients", "residual"):
            assert getattr(looked, name).tobytes() == getattr(alone, name).tobytes(), seed


@settings(deadline=None, max_examples=examples(150))
@given(seed=st.integers(0, 2**63))
def test_seeds_that_hypothesis_thinks_of(oracle: Any, seed: int) -> None:
    assert_optimal(oracle, oracle.adversarial(seed))


@settings(deadline=None, max_examples=examples(150))
@given(
    rows=st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=n, max_size=n)
    ),
    query=st.lists(st.integers(-4, 4), min_size=3, max_size=3),
    l1=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    l2=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_no_subset_of_rows_does_better(
    oracle: Any, rows: list[list[int]], query: list[int], l1: float, l2: float
) -> None:
    instance = (np.array(rows, dtype=np.float32), np.array(query, dtype=float), l1, l2)
    solution = solve_active_set(NnnProblem(*instance))
    found = oracle.objective(instance, oracle.dense(solution, len(rows)))
    assert found == pytest.approx(oracle.best_of_all_supports(instance), abs=1e-6)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (300, 30)])
@pytest.mark.parametrize(("l1", "l2"), [(0.1, 0.0), (0.1, 0.5), (0.01, 1.0), (0.3, 3.0)])
def test_scikit_learn_finds_the_same_weights(
    unit_rows: Callable[..., Any], shape: tuple[int, int], l1: float, l2: float
) -> None:
    rows = unit_rows(*shape, seed=5)
    query = rows[1].astype(float) + 0.5 * rows[2] - 0.1 * rows[3]
    solution = solve_active_set(NnnProblem(rows, query, l1, l2))
    # It minimises ‖y − Xw‖²/2n + α ρ ‖w‖₁ + ½ α (1 − ρ) ‖w‖², n the number of dimensions here.
    total = (l1 + l2) / len(query)
    model = ElasticNet(
        alpha=total, l1_ratio=l1 / (l1 + l2), positive=True, fit_intercept=False, tol=1e-12, max_iter=200_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it also warns when rounding keeps its gap above 1e-12
        model.fit(rows.T.astype(float), query)
    z = np.zeros(len(rows))
    z[solution.support] = solution.coefficients
    np.testing.assert_allclose(z, model.coef_, atol=2e-5)


def test_a_penalty_above_every_correlation_gives_exact_zeros(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(500, 16)
    query = rows[0].astype(float)
    largest = (rows.astype(float) @ query).max()
    for l1 in (largest, 2 * largest):
        solution = solve_active_set(NnnProblem(rows, query, l1, 0.0))
        assert len(solution.support) == 0
        assert solution.certificate.exact
        np.testing.assert_array_equal(solution.residual, query)


@pytest.mark.parametrize("query", [np.zeros(5), -np.eye(5)[0]])
def test_nothing_is_chosen_for_a_query_that_nothing_explains(query: np.ndarray) -> None:
    solution = solve_active_set(NnnProblem(np.eye(5, dtype=np.float32)[:2], query, 0.0, 0.0))
    assert len(solution.support) == 0
    assert solution.certificate.exact


@pytest.mark.parametrize("copies", [[4, 1, 9], [150, 2, 399]])
def test_of_identical_rows_the_lowest_keeps_the_weight(
    unit_rows: Callable[..., Any], copies: list[int]
) -> None:
    rows = unit_rows(400, 16)
    rows[copies] = rows[copies[0]]
    solution = solve_active_set(NnnProblem(rows, rows[copies[0]] + 0.3 * rows[20].astype(float), 0.05, 0.0))
    assert min(copies) in solution.support
    assert not set(copies) - {min(copies)} & set(solution.support.tolist())


def test_of_identical_rows_the_one_of_lowest_penalty_keeps_the_weight() -> None:
    rows = np.array([[1, 0], [1, 0], [1, 0]], dtype=np.float32)
    solution = solve_active_set(NnnProblem(rows, np.array([1.0, 0.0]), np.array([0.3, 0.1, 0.1]), 0.0))
    assert solution.support.tolist() == [1]
    np.testing.assert_allclose(solution.coefficients, [0.9])


def test_a_ridge_shares_the_weight_equally_among_identical_rows() -> None:
    rows = np.array([[1, 0], [1, 0]], dtype=np.float32)
    solution = solve_active_set(NnnProblem(rows, np.array([1.0, 0.0]), 0.1, 1.0))
    np.testing.assert_allclose(solution.coefficients, [0.3, 0.3], atol=1e-12)


def test_a_warm_start_changes_the_work_and_not_the_answer(small_problem: NnnProblem) -> None:
    cold = solve_active_set(small_problem)
    near = NnnProblem(small_problem.corpus, small_problem.query, small_problem.l1 * 1.01, small_problem.l2)
    warm = solve_active_set(small_problem, warm_start=solve_active_set(near))
    np.testing.assert_array_equal(warm.support, cold.support)
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-12)
    assert warm.certificate.rounds < cold.certificate.rounds


def test_a_warm_start_may_hold_more_rows_than_a_pool_begins_with() -> None:
    def of_equal_rows(count: int) -> NnnProblem:
        return NnnProblem(np.ones((count, 1), dtype=np.float32), np.ones(1), l1=0.1, l2=0.05)

    start = solve_active_set(of_equal_rows(300))
    assert len(start.support) == 300
    more = solve_active_set(of_equal_rows(310), warm_start=start)
    assert more.certificate.exact
    assert len(more.support) == 310


@given(seed=st.integers(0, 2**63), other=st.integers(0, 2**63))
@settings(deadline=None, max_examples=examples(60))
def test_any_warm_start_leads_to_the_optimum(oracle: Any, seed: int, other: int) -> None:
    documents, query, l1, l2 = oracle.adversarial(seed)
    elsewhere = np.random.default_rng(other).standard_normal(len(query))
    start = solve_active_set(NnnProblem(documents, elsewhere, 0.01, 0.0))
    assert solve_active_set(NnnProblem(documents, query, l1, l2), warm_start=start).certificate.exact


def test_out_of_rounds_the_certificate_says_so(unit_rows: Callable[..., Any]) -> None:
    rows = unit_rows(300, 40)
    problem = NnnProblem(rows, rows[:9].sum(0).astype(float), 0.01, 0.1)
    cut = solve_active_set(problem, max_rounds=1).certificate
    assert cut.rounds <= 2
    assert not cut.exact
    assert cut.violation > TOLERANCE
    assert cut.gap > 0
    assert solve_active_set(problem).certificate.exact
