"""What is accepted, what is refused with which words, and the order that a solution gives."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.nnn import Corpus, InvalidProblem, NnnProblem, ranking, solve_active_set

ROWS = np.eye(3, 4, dtype=np.float32)
QUERY = np.array([1.0, 0.5, 0.2, 0.0])


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (np.empty((0, 4), np.float32), "non-empty matrix"),
        (np.empty((4, 0), np.float32), "non-empty matrix"),
        (np.ones(4, np.float32), "non-empty matrix"),
        (np.ones((2, 4), np.int64), "floating-point"),
        (np.ones((2, 4), np.complex128), "floating-point"),
        (np.full((2, 4), np.nan, np.float32), "NaN"),
        (np.full((2, 4), -np.inf), "NaN, infinite"),
        (np.full((2, 4), 1e300), "too large for float32"),
    ],
)
def test_documents_that_define_no_problem_are_refused(documents: np.ndarray, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words) as caught:
        NnnProblem(documents, QUERY, 0.1, 0.1)
    assert caught.value.argument == "documents"


@pytest.mark.parametrize(
    "query",
    [np.ones(3), np.ones((1, 4)), np.array([1, 0, np.nan, 0]), np.array([np.inf, 0, 0, 0]), np.arange(4)],
)
def test_a_query_must_match_and_be_finite(query: np.ndarray) -> None:
    with pytest.raises(InvalidProblem, match=r"^query"):
        NnnProblem(ROWS, query, 0.1, 0.1)


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "0.1", None])
def test_penalties_are_finite_and_not_negative(value: object) -> None:
    with pytest.raises(InvalidProblem, match=r"^l1"):
        NnnProblem(ROWS, QUERY, value, 0.1)
    with pytest.raises(InvalidProblem, match=r"^l2"):
        NnnProblem(ROWS, QUERY, 0.1, value)


@pytest.mark.parametrize(
    "values", [np.zeros(2), np.zeros((3, 1)), np.array([0, np.nan, 0]), np.array(["a"] * 3)]
)
def test_penalties_per_row_are_one_finite_number_each(values: np.ndarray) -> None:
    with pytest.raises(InvalidProblem, match=r"^l1"):
        NnnProblem(ROWS, QUERY, values, 0.1)


def test_a_row_is_paid_for_being_chosen_only_where_the_problem_stays_bounded() -> None:
    bonus = np.array([-0.1, 0.1, 0.1])
    with pytest.raises(InvalidProblem, match="needs l2 > 0"):
        NnnProblem(ROWS, QUERY, bonus, 0.0)
    solution = solve_active_set(NnnProblem(ROWS, QUERY, bonus, 1.0))
    assert solution.certificate.exact
    np.testing.assert_allclose(solution.coefficients, [0.55, 0.2, 0.05], atol=1e-12)


def test_half_precision_is_widened_and_double_narrowed() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        solution = solve_active_set(NnnProblem(ROWS.astype(dtype), QUERY.astype(dtype), 0.1, 0.0))
        np.testing.assert_allclose(solution.coefficients, [0.9, 0.4, 0.1], atol=1e-3)


def test_a_prepared_corpus_serves_many_queries() -> None:
    corpus = Corpus(ROWS)
    assert NnnProblem(corpus, QUERY, 0.1, 0.0).corpus is corpus
    assert (corpus.rows, corpus.dimensions) == (3, 4)


def test_ranking_is_by_coefficient_then_by_residual_correlation_then_by_index() -> None:
    rows = np.array([[0, 0, 1], [0.6, 0.8, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]], dtype=np.float32)
    problem = NnnProblem(rows, np.array([1.0, 0.55, 0.05]), l1=0.2, l2=0.0)
    solution = solve_active_set(problem)
    assert solution.support.tolist() == [1, 2]
    assert ranking(solution, problem).tolist() == [1, 2, 4, 0, 3]
    assert ranking(solution, problem, limit=1).tolist() == [1]
    assert ranking(solution, problem, limit=3).tolist() == [1, 2, 4]
    assert ranking(solution, problem, limit=99).tolist() == [1, 2, 4, 0, 3]
    assert ranking(solution, problem, limit=0).tolist() == []
