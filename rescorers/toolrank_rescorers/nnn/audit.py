"""Finds every row that can break optimality at a residual, reading as little of the corpus as it can.

What a scan at one vector v tells about the correlations with another, r: with a = rᵀv/‖v‖, r = a·v/‖v‖ + r⊥
and x_j = d_jᵀv/‖v‖, Cauchy–Schwarz gives

    d_jᵀr ≤ a x_j + √(‖d_j‖² − x_j²)·‖r⊥‖ = ‖d_j‖‖r‖ cos(θ_j − φ),   cos θ_j = x_j/‖d_j‖,   cos φ = a/‖r‖,

so every row with x_j ≤ ν cos(φ + arccos(l1_j / ν‖r‖)), ν ≥ max ‖d_j‖, is below its penalty: one comparison a
row. The first scan is at v = q; after a later scan, v is the residual of that moment and φ is small. Both the
bound and the scans allow for the rounding of float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolrank_rescorers.nnn.certificate import Certificate, duality_gap, violation
from toolrank_rescorers.nnn.corpus import Float32, Float64, Rows
from toolrank_rescorers.nnn.problem import Problem, Solution

_WORTH_GATHERING = 0.3
"""Reading scattered rows costs up to three times as much a row as a scan does."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Rows that may violate at a residual, with float64 correlations; every other row is proved not to."""

    rows: Rows
    correlations: Float64
    checked: int
    """Rows whose correlation was computed to find these."""


class Audit:
    """The memory of one solve: what was scanned, so that the next question costs less."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._scanned: tuple[Float64, Float32] | None = None

    def scan(self, vector: Float64) -> Float32:
        """Correlations of all rows with the vector (n,); the bound rests on them from now on."""
        correlations = self._problem.corpus.scan(vector)
        self._scanned = (vector, correlations)
        return correlations

    def suspects(self, residual: Float64) -> Suspects:
        """Every row with d_iᵀr > l1_i, and perhaps some just below."""
        rows = self._not_excluded(residual)
        if rows is None:
            correlations = self.scan(residual)
            rows = np.flatnonzero(correlations > self._problem.l1 - self._problem.corpus.scan_error(residual))
            checked = len(correlations)
        else:
            checked = len(rows)
        return Suspects(rows, self._problem.corpus.exact_rows(rows) @ residual, checked)

    def _not_excluded(self, residual: Float64) -> Rows | None:
        """Rows that the bound leaves open; None where a scan is cheaper."""
        if self._scanned is None:
            return None
        vector, correlations = self._scanned
        thresholds = excluded_below(self._problem, vector, residual)
        left_open = correlations > thresholds
        if np.count_nonzero(left_open) > _WORTH_GATHERING * len(correlations):
            return None
        return np.flatnonzero(left_open)


def excluded_below(problem: Problem, vector: Float64, residual: Float64) -> float | Float64:
    """Rows whose scanned d_jᵀv is not above this have d_jᵀr ≤ l1_j.

    One number, or one per row (n,) where the penalties are.
    """
    length, size = _norm(vector), _norm(residual)
    largest = problem.corpus.largest_norm
    if length == 0.0:
        return -np.inf
    if size * largest == 0.0:
        return _scalar_or_rows(np.where(np.asarray(problem.l1) >= 0, np.inf, -np.inf))
    along = float(residual @ vector) / length
    cosine, sine = along / size, _norm(residual - (along / length) * vector) / size
    level = np.asarray(problem.l1) / (largest * size)
    lowest = cosine * level - sine * np.sqrt(np.maximum(0.0, 1.0 - np.square(level)))
    bound = length * largest * lowest - problem.corpus.scan_error(vector)
    return _scalar_or_rows(np.where(level >= 1.0, np.inf, np.where(level <= -cosine, -np.inf, bound)))


def conclude(
    problem: Problem, rows: Rows, coefficients: Float64, audit: Audit, *, tolerance: float, rounds: int
) -> Solution:
    """Puts a sparse z (positive `coefficients` of distinct `rows`) in canonical order and certifies it."""
    residual = problem.query - coefficients @ problem.corpus.exact_rows(rows)
    suspects = audit.suspects(residual)
    if problem.l2 == 0.0:
        rows = _lowest_twins(problem, rows, suspects.rows)
    support, places = np.unique(rows, return_inverse=True)
    weights_of_support: Float64 = np.bincount(places, coefficients, len(support)).astype(np.float64)
    union = np.union1d(support, suspects.rows)
    weights = np.zeros(len(union))
    weights[np.searchsorted(union, support)] = weights_of_support
    correlations = problem.corpus.exact_rows(union) @ residual
    checked = max(suspects.checked, len(union))
    certificate = Certificate(
        violation=violation(correlations - problem.penalties(union), weights, problem.l2),
        gap=duality_gap(problem, union, weights, residual, correlations),
        tolerance=tolerance,
        rows=problem.corpus.rows,
        checked_rows=checked,
        excluded_rows=problem.corpus.rows - checked,
        rounds=rounds,
    )
    return Solution(support, weights_of_support, residual, certificate)


def _lowest_twins(problem: Problem, chosen: Rows, suspects: Rows) -> Rows:
    """Replaces each chosen row by the first identical one of equal penalty.

    At l2 = 0 such rows sit exactly at their penalty, so all of them are among the suspects.
    """
    pool = np.union1d(chosen, suspects)
    vectors = problem.corpus.documents[pool] + np.float32(0.0)  # −0 and +0 are the same number
    keys = [
        (vector.tobytes(), penalty)
        for vector, penalty in zip(vectors, problem.penalties(pool).tolist(), strict=True)
    ]
    first: dict[tuple[bytes, float], int] = {}
    for row, key in zip(pool.tolist(), keys, strict=True):
        first.setdefault(key, row)
    places = np.searchsorted(pool, chosen).tolist()
    return np.array([first[keys[place]] for place in places], dtype=np.intp)


def _scalar_or_rows(bound: Float64) -> float | Float64:
    """A plain number keeps comparisons with a float32 scan in float32."""
    return bound if bound.ndim else float(bound)


def _norm(vector: Float64) -> float:
    return float(np.sqrt(vector @ vector))
