"""Exact search in a matrix: float32 to select, float64 to order.

A matrix product may give two equal rows scores that differ in the last bit, by where they lie. So the
product only selects what can be among the best, within its rounding error; the few selected rows are
scored one by one in float64, and equal rows get equal scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Vector
from toolrank_engines.sqlite.top import best

_FEW = 0.1
"""Below this fraction of visible rows, gathering them is cheaper than multiplying the whole matrix."""
_CHUNK = 1024


def nearest(
    matrix: NDArray[np.float32], slots: NDArray[np.int64], query: Vector, k: int, longest: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The k of `slots` whose rows have the largest inner product with the query, ties in order.

    Args:
        matrix: float32 (rows, d).
        slots: int (n,), the rows that may be found, in the order that breaks ties.
        query: float32 (d,), finite, of any length.
        k: how many at most.
        longest: upper bound of the rows' lengths.

    Returns:
        Positions in `slots` and inner products, best first.
    """
    k = min(k, len(slots))
    if k <= 0:
        return np.empty(0, np.intp), np.empty(0)
    length = float(np.linalg.norm(query.astype(np.float64)))
    unit = query.astype(np.float64) / (length or 1.0)
    rough = _products(matrix, slots, unit.astype(np.float32))
    error = (len(query) + 2) * float(np.finfo(np.float32).eps) * longest
    threshold = np.partition(rough, len(rough) - k)[len(rough) - k] - 2 * error
    chosen = np.flatnonzero(rough >= threshold)
    scores = _exact(matrix, slots[chosen], unit)
    order = best(scores, k)
    return chosen[order], scores[order] * length


def _products(matrix: NDArray[np.float32], slots: NDArray[np.int64], unit: Vector) -> NDArray[np.float32]:
    """By einsum: BLAS would start threads, which cost more than they save here."""
    if len(slots) < _FEW * len(matrix):
        chunks = [slots[i : i + _CHUNK] for i in range(0, len(slots), _CHUNK)]
        return np.concatenate([np.einsum("ij,j->i", matrix[chunk], unit) for chunk in chunks])
    products: NDArray[np.float32] = np.einsum("ij,j->i", matrix, unit)[slots]
    return products


def _exact(
    matrix: NDArray[np.float32], slots: NDArray[np.int64], unit: NDArray[np.float64]
) -> NDArray[np.float64]:
    chunks = [slots[i : i + _CHUNK] for i in range(0, len(slots), _CHUNK)]
    return np.concatenate([(matrix[chunk].astype(np.float64) * unit).sum(axis=1) for chunk in chunks])
