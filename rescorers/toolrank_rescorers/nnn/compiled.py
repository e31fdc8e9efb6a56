"""One source, two speeds: numba compiles the inner loops where it is installed, numpy runs them where not.

What is decorated keeps to the part of numpy that numba knows. Only three products differ: numba needs them as
loops, numpy as calls.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from toolrank_rescorers.nnn.corpus import Float64

_P = ParamSpec("_P")
_R = TypeVar("_R")

COMPILED = importlib.util.find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
"""Whether numba is there and not switched off. The answers are the same either way."""


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compiles on first use, kept on disk between runs. Sums may be taken in any order."""
    if not COMPILED:
        return function
    import numba  # type: ignore[import-not-found, import-untyped, unused-ignore]

    jit = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    return jit(function)  # type: ignore[no-any-return, unused-ignore]


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


def _combination(weights: Float64, matrix: Float64) -> Float64:
    return weights @ matrix


def _combination_loops(weights: Float64, matrix: Float64) -> Float64:
    result = np.zeros(matrix.shape[1])
    for i in range(matrix.shape[0]):
        weight = weights[i]
        for j in range(matrix.shape[1]):
            result[j] += weight * matrix[i, j]
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


product = compiled(_product_loops) if COMPILED else _product
"""A x (m,) of A (m, n) and x (n,)."""
combination = compiled(_combination_loops) if COMPILED else _combination
"""Σ w_i A_i (n,) of w (m,) and the rows of A (m, n)."""
preceding_sums = compiled(_preceding_sums_loops) if COMPILED else _preceding_sums
"""Σ_{j<i} w_j A_j for every row i (m, n) of w (m,) and the rows of A (m, n)."""
