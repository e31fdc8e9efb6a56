"""Exact search equals sorting all inner products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_engines.contract import checked_vector
from kitpick_engines.errors import InvalidVector
from kitpick_engines.sqlite.matrix import nearest


def unit_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.standard_normal((n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 300),
    d=st.sampled_from([1, 3, 8, 31]),
    sizes=st.lists(st.integers(0, 40), max_size=9),
    share=st.floats(0, 1),
    copies=st.integers(1, 20),
)
def test_the_nearest_are_those_of_a_full_sort_ties_in_order(seed, n, d, sizes, share, copies):
    rng = np.random.default_rng(seed)
    matrix = (
        unit_rows(rng, n, d)[rng.integers(0, max(n // copies, 1), n)] if n else np.empty((0, d), np.float32)
    )
    slots = np.flatnonzero(rng.random(n) < share)
    rng.shuffle(slots)
    asked = list(rng.standard_normal((len(sizes), d)).astype(np.float32) * 7)
    found = nearest(matrix, slots, asked, sizes, longest=1.001)
    for query, size, (chosen, scores) in zip(asked, sizes, found, strict=True):
        exact = (matrix[slots].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        expected = np.lexsort((np.arange(len(slots)), -np.round(exact, 9)))[:size]
        np.testing.assert_array_equal(chosen, expected)
        np.testing.assert_allclose(scores, exact[expected], rtol=1e-9, atol=1e-9)


def test_equal_rows_score_equally_wherever_they_lie():
    rng = np.random.default_rng(0)
    matrix = unit_rows(rng, 5_000, 384)
    places = rng.choice(5_000, 500, replace=False)
    matrix[places] = matrix[places[0]]
    ((chosen, scores),) = nearest(matrix, np.arange(5_000), [matrix[places[0]]], [400], longest=1.001)
    np.testing.assert_array_equal(chosen, np.sort(places)[:400])
    assert len(set(scores.tolist())) == 1


def test_rows_closer_than_float32_can_tell_are_ordered_exactly():
    rng = np.random.default_rng(2)
    row = unit_rows(rng, 1, 384)[0]
    matrix = np.nextafter(row, rng.choice([-1, 1], (3_000, 384)).astype(np.float32))
    query = unit_rows(rng, 1, 384)[0]
    exact = (
        matrix.astype(np.longdouble) @ query.astype(np.longdouble) / np.linalg.norm(query.astype(np.float64))
    )
    ((chosen, _),) = nearest(matrix, np.arange(3_000), [query], [10], longest=1.001)
    np.testing.assert_array_equal(chosen, np.argsort(-exact, kind="stable")[:10])


@pytest.mark.parametrize("length", [0.0, 1e-30, 1e30])
def test_a_query_of_any_length_gives_the_same_order(length):
    matrix = unit_rows(np.random.default_rng(1), 50, 8)
    query = matrix[3] * np.float32(length)
    ((chosen, scores),) = nearest(matrix, np.arange(50), [query], [5], longest=1.001)
    assert np.isfinite(scores).all()
    assert chosen[0] == (3 if length else 0)


def test_a_vector_is_checked_for_shape_and_values():
    assert checked_vector(np.array([1.0, 2.0]), 2).dtype == np.float32
    for bad in ([1.0], [1.0, np.nan], [1.0, 1e300], [[1.0, 2.0]]):
        with pytest.raises(InvalidVector):
            checked_vector(np.array(bad), 2)
