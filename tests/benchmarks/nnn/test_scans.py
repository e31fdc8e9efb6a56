"""Wherever the products of a batch are taken, the same rows are found, and the same answers proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nnn.batch import solve_batch
from nnn.codes import Codes
from nnn.scans import CodedScans, NumpyScans

from kitpick_rescorers.nnn import Corpus


def by_codes(corpus: Corpus) -> CodedScans:
    return CodedScans(Codes(corpus.documents))


WAYS = [
    NumpyScans,
    pytest.param(by_codes, marks=pytest.mark.needs("onnxruntime")),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [3, 700, 9_000])
def test_the_best_rows_are_found_with_their_correlations(
    unit_rows: Callable[..., Any], way: Any, size: int
) -> None:
    rows = unit_rows(size, 24)
    vectors = rows[:3].astype(float)
    for vector, (places, scores) in zip(vectors, way(Corpus(rows)).best(vectors, 100), strict=True):
        exact = rows.astype(float) @ vector
        assert len(np.unique(places)) == len(places) >= min(100, size)
        assert set(np.argsort(-exact)[: min(60, size)].tolist()) <= set(places.tolist())
        scale = exact[places] @ scores / (scores @ scores)  # of codes these are numbers without a unit
        np.testing.assert_allclose(scale * scores, exact[places], atol=0.02)


@pytest.mark.parametrize("way", WAYS)
def test_every_row_above_its_floor_is_found(
    unit_rows: Callable[..., Any], way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nnn.scans._BLOCK", 1_000)
    rows = unit_rows(4_500, 24)
    vectors = rows[[0, 7, 4_499]].astype(float)
    for floor in (-2.0, 0.3, 2.0):
        for vector, near in zip(vectors, way(Corpus(rows)).above(vectors, floor), strict=True):
            exact = rows.astype(float) @ vector
            assert set(np.flatnonzero(exact > floor).tolist()) <= set(near.rows.tolist())
            assert (exact[near.rows] > floor - 2 * near.error).all()
            assert (np.abs(exact[near.rows] - near.correlations) <= near.error).all()
            assert (np.diff(near.rows) > 0).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("l1", [0.05, 0.3])
def test_a_batch_is_solved_and_proved_by_them(unit_rows: Callable[..., Any], way: Any, l1: float) -> None:
    rows = unit_rows(5_000, 32)
    queries = np.stack([rows[i : i + 3].mean(0) for i in range(0, 60, 7)])
    usual = solve_batch(Corpus(rows), queries, l1, 0.1)
    found = solve_batch(Corpus(rows), queries, l1, 0.1, scans=way(Corpus(rows)))
    for solution, same in zip(found, usual, strict=True):
        assert solution.certificate.exact
        np.testing.assert_array_equal(solution.support, same.support)
        np.testing.assert_allclose(solution.coefficients, same.coefficients, atol=1e-7)
