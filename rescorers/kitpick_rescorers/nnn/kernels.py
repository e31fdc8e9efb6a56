"""The inner loops of the solvers: compiled if numba is installed, otherwise run by numpy.

numpy needs them as calls, numba as loops over whole arrays. Slices of a matrix are never passed on: compiled
code would no longer know that its rows are contiguous.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_rescorers.nnn.corpus import Float32, Float64, Rows

_P = ParamSpec("_P")
_R = TypeVar("_R")

COMPILED = importlib.util.find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
"""Whether numba is there and not switched off. The answers are the same either way."""


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compiles a function on its first use and caches it on disk. Sums may be taken in any order."""
    if not COMPILED:
        return function
    import numba  # type: ignore[import-not-found, import-untyped, unused-ignore]

    jit = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    return jit(function)  # type: ignore[no-any-return, unused-ignore]


Stop = NDArray[np.bool_]
"""One flag (1,) that compiled loops look at: once it is set they come to an end, with whatever they have."""
NEVER: Stop = np.zeros(1, dtype=np.bool_)


@contextmanager
def stopping(deadline: Deadline) -> Iterator[Stop]:
    """A flag that another thread sets at the deadline, because compiled code cannot read a clock.

    Whoever ran a loop with it asks the deadline afterwards.
    """
    if deadline is UNLIMITED:
        yield NEVER
        return
    stop, done = np.zeros(1, dtype=np.bool_), threading.Event()

    def watch() -> None:
        deadline.wait(done)
        stop[0] = True

    threading.Thread(target=watch, name="kitpick-deadline", daemon=True).start()
    try:
        yield stop
    finally:
        done.set()


def unflagged(solver: Callable[_P, _R]) -> Callable[_P, _R]:
    """Runs a solver without numpy's warning of invalid operations.

    Some versions of OpenBLAS report one in products of finite values (numpy issue 24067). The values of a
    problem are checked when it is built, so that nothing true is hidden.
    """

    @wraps(solver)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with np.errstate(invalid="ignore"):
            return solver(*args, **kwargs)

    return run


def faster_of(calls: Callable[_P, _R], loops: Callable[_P, _R]) -> Callable[_P, _R]:
    """The faster of two implementations: numpy calls, or loops for the compiler."""
    return compiled(loops) if COMPILED else calls


def _product(matrix: Float64, vector: Float64) -> Float64:
    return matrix @ vector


def _product_loops(matrix: Float64, vector: Float64) -> Float64:
    result = np.empty(matrix.shape[0])
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        result[i] = total
    return result


def _complete_product(matrix: Float64, start: int, vector: Float64, result: Float64) -> None:
    result[start:] = matrix[start:] @ vector


def _complete_product_loops(matrix: Float64, start: int, vector: Float64, result: Float64) -> None:
    for i in range(start, matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        result[i] = total


def _own_products(matrix: Float64, rows: Rows, result: Float64) -> None:
    result[rows] = matrix[rows] @ matrix.T


def _own_products_loops(matrix: Float64, rows: Rows, result: Float64) -> None:
    a, b, c, d = rows[0], rows[1], rows[2], rows[3]
    for i in range(matrix.shape[0]):
        by_a, by_b, by_c, by_d = 0.0, 0.0, 0.0, 0.0
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            by_a += value * matrix[a, j]
            by_b += value * matrix[b, j]
            by_c += value * matrix[c, j]
            by_d += value * matrix[d, j]
        result[a, i], result[b, i], result[c, i], result[d, i] = by_a, by_b, by_c, by_d


def _lower_product(lower: Float64, k: int, vector: Float64) -> Float64:
    return lower[:k, :k] @ vector


def _lower_product_loops(lower: Float64, k: int, vector: Float64) -> Float64:
    result = np.empty(k)
    for i in range(k):
        total = 0.0
        for j in range(i + 1):
            total += lower[i, j] * vector[j]
        result[i] = total
    return result


def _lower_combination(weights: Float64, lower: Float64, k: int) -> Float64:
    return weights @ lower[:k, :k]


def _lower_combination_loops(weights: Float64, lower: Float64, k: int) -> Float64:
    result = np.zeros(k)
    for i in range(k):
        weight = weights[i]
        for j in range(i + 1):
            result[j] += weight * lower[i, j]
    return result


def _rows_combination(weights: Float64, matrix: Float64, rows: Rows) -> Float64:
    return weights @ matrix[rows]


def _rows_combination_loops(weights: Float64, matrix: Float64, rows: Rows) -> Float64:
    result = np.zeros(matrix.shape[1])
    for i in range(len(rows)):
        weight, row = weights[i], rows[i]
        for j in range(matrix.shape[1]):
            result[j] += weight * matrix[row, j]
    return result


def _block_product(matrix: Float64, rows: Rows, vector: Float64) -> Float64:
    return matrix[rows][:, rows] @ vector


def _block_product_loops(matrix: Float64, rows: Rows, vector: Float64) -> Float64:
    result = np.empty(len(rows))
    for i in range(len(rows)):
        total, row = 0.0, rows[i]
        for j in range(len(rows)):
            total += matrix[row, rows[j]] * vector[j]
        result[i] = total
    return result


def _preceding_sums(weights: Float64, matrix: Float64) -> Float64:
    sums = np.zeros_like(matrix)
    np.cumsum(weights[:-1, None] * matrix[:-1], axis=0, out=sums[1:])
    return sums


def _preceding_sums_loops(weights: Float64, matrix: Float64) -> Float64:
    sums = np.zeros_like(matrix)
    for i in range(1, matrix.shape[0]):
        for j in range(matrix.shape[1]):
            sums[i, j] = sums[i - 1, j] + weights[i - 1] * matrix[i - 1, j]
    return sums


def _scan_rows(documents: Float32, rows: Rows, vector: Float32) -> Float32:
    return documents[rows] @ vector


def _scan_rows_loops(documents: Float32, rows: Rows, vector: Float32) -> Float32:
    result = np.empty(len(rows), dtype=np.float32)
    for i in range(len(rows)):
        total, row = np.float32(0.0), rows[i]
        for j in range(documents.shape[1]):
            total += documents[row, j] * vector[j]
        result[i] = total
    return result


def _exact_scan(documents: Float32, rows: Rows, vector: Float64) -> Float64:
    return documents[rows].astype(np.float64) @ vector


def _exact_scan_loops(documents: Float32, rows: Rows, vector: Float64) -> Float64:
    result = np.empty(len(rows))
    for i in range(len(rows)):
        total, row = 0.0, rows[i]
        for j in range(documents.shape[1]):
            total += np.float64(documents[row, j]) * vector[j]
        result[i] = total
    return result


product = faster_of(_product, _product_loops)
"""A x (m,) of A (m, n) and x (n,)."""
complete_product = faster_of(_complete_product, _complete_product_loops)
"""A x (m,) of A (m, n) and x (n,), from this place on, into a result (m,)."""
own_products = faster_of(_own_products, _own_products_loops)
"""A A_iᵀ (m,) of four named rows of A (m, n), into those rows of a result (m, m): A is read once for all."""
lower_product = faster_of(_lower_product, _lower_product_loops)
"""M x (k,) of the leading k rows and columns of a lower triangular M."""
lower_combination = faster_of(_lower_combination, _lower_combination_loops)
"""Mᵀ w (k,) of the leading k rows and columns of a lower triangular M."""
rows_combination = faster_of(_rows_combination, _rows_combination_loops)
"""Σ w_i A_{rows_i} (n,) of w (m,) and m named rows of A (·, n)."""
block_product = faster_of(_block_product, _block_product_loops)
"""A_{rows, rows} x (m,) of m named rows and columns of A."""
preceding_sums = faster_of(_preceding_sums, _preceding_sums_loops)
"""Σ_{j<i} w_j A_j for every row i (m, n) of w (m,) and the rows of A (m, n)."""
scan_rows = faster_of(_scan_rows, _scan_rows_loops)
"""D_rows v in float32 (m,) of m named rows."""
exact_scan = faster_of(_exact_scan, _exact_scan_loops)
"""D_rows v in float64 (m,) of m named rows."""
