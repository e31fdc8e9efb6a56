"""Finds every row that can break optimality at a residual, reading as little of the corpus as it can.

What a scan at one vector v tells about the correlations with another, r: with a = rᵀv/‖v‖, r = a·v/‖v‖ + r⊥
and x_j = d_jᵀv/‖v‖, Cauchy–Schwarz gives

    d_jᵀr ≤ a x_j + √(‖d_j‖² − x_j²)·‖r⊥‖ = ‖d_j‖‖r‖ cos(θ_j − φ),   cos θ_j = x_j/‖d_j‖,   cos φ = a/‖r‖,

so every row with x_j ≤ ν cos(φ + arccos(l1_j / ν‖r‖)), ν ≥ max ‖d_j‖, is below its penalty: one comparison a
row. The first scan is at v = q; after a later scan, v is the residual of that moment and φ is small. Both the
bound and the scans allow for the rounding of float32. With codes, the residual is scanned in eight bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from toolrank_rescorers.nnn.certificate import Certificate, duality_gap, violation
from toolrank_rescorers.nnn.corpus import Float32, Float64, Rows
from toolrank_rescorers.nnn.kernels import exact_scan, scan_rows
from toolrank_rescorers.nnn.problem import Problem, Solution
from toolrank_rescorers.nnn.selecting import beyond

_WORTH_GATHERING = 0.3
"""Reading scattered rows costs up to three times as much a row as a scan does."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Unknown rows that may violate at a residual, with float64 correlations; no other one can."""

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

    def suspects(self, residual: Float64, known: Rows) -> Suspects:
        """Every row with d_iᵀr > l1_i, and perhaps some just below, beyond those known (distinct)."""
        corpus, l1 = self._problem.corpus, self._problem.l1
        if len(known) == corpus.rows:
            return Suspects(np.empty(0, dtype=np.intp), np.empty(0), corpus.rows)
        rows = self._not_excluded(residual, known) if corpus.codes is None else self._open(residual, known)
        checked = corpus.rows if rows is None else len(known) + len(rows)
        slack = corpus.scan_error(residual)
        if rows is None:
            above = self.scan(residual) > l1 - slack
            above[known] = False
            near = np.flatnonzero(above)
        else:
            correlations = scan_rows(corpus.documents, rows, residual.astype(np.float32))
            near = rows[correlations > self._problem.penalties(rows) - slack]
        return Suspects(near, exact_scan(corpus.documents, near, residual), checked)

    def _open(self, residual: Float64, known: Rows) -> Rows:
        """Rows beyond the known ones that eight bits leave open."""
        assert self._problem.corpus.codes is not None
        coded = self._problem.corpus.codes.scan(residual)
        rows = coded.above(self._problem.l1)
        return beyond(rows, known)

    def _not_excluded(self, residual: Float64, known: Rows) -> Rows | None:
        """Rows beyond the known ones that the bound leaves open; None where a scan is cheaper."""
        if self._scanned is None:
            return None
        vector, correlations = self._scanned
        left_open = correlations > excluded_below(self._problem, vector, residual)
        left_open[known] = False
        if np.count_nonzero(left_open) > _WORTH_GATHERING * len(correlations):
            return None
        return np.flatnonzero(left_open)


def excluded_below(problem: Problem, vector: Float64, residual: Float64) -> float | Float64:
    """Rows whose scanned d_jᵀv is not above this have d_jᵀr ≤ l1_j.

    One number, or one per row (n,) where the penalties are.
    """
    length, size = _norm(vector), _norm(residual)
    largest = problem.corpus.largest_norm
    if length == 0.0 or size * largest == 0.0:
        return np.where(np.asarray(problem.l1) >= size * largest, np.inf, -np.inf)
    along = float(residual @ vector) / length
    cosine, sine = along / size, _norm(residual - (along / length) * vector) / size
    if isinstance(problem.l1, float):
        scale, level = length * largest, problem.l1 / (largest * size)
        if level >= 1.0:
            return math.inf
        if level <= -cosine:
            return -math.inf
        return scale * (cosine * level - sine * math.sqrt(1.0 - level * level)) - problem.corpus.scan_error(
            vector
        )
    levels = problem.l1 / (largest * size)
    lowest = cosine * levels - sine * np.sqrt(np.maximum(0.0, 1.0 - np.square(levels)))
    bounds = length * largest * lowest - problem.corpus.scan_error(vector)
    return np.where(levels >= 1.0, np.inf, np.where(levels <= -cosine, -np.inf, bounds))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A sparse z, and the correlations of every row that counts: its support, and all that may violate."""

    rows: Rows
    """Distinct rows (m,), in any order."""
    weights: Float64
    """z of these rows, ≥ 0; it is 0 everywhere else."""
    correlations: Float64
    """d_iᵀr of these rows, float64."""
    residual: Float64
    """q − Dᵀz (d,)."""
    checked: int
    """Rows whose correlation with this residual was computed."""


def conclude(problem: Problem, evidence: Evidence, *, tolerance: float, rounds: int) -> Solution:
    """Puts a sparse z in canonical order and certifies it over the whole corpus."""
    rows, weights, residual = evidence.rows, evidence.weights, evidence.residual
    correlations, penalties = evidence.correlations, problem.penalties(rows)
    energy = float(residual @ residual)
    certificate = Certificate(
        violation=violation(correlations - penalties, weights, problem.l2),
        gap=duality_gap(correlations, penalties, weights, energy, problem.l2, problem.positive),
        tolerance=tolerance,
        rows=problem.corpus.rows,
        checked_rows=evidence.checked,
        excluded_rows=problem.corpus.rows - evidence.checked,
        rounds=rounds,
    )
    chosen = np.flatnonzero(weights)
    support = rows[chosen] if problem.l2 > 0.0 else _lowest_twins(problem, rows, chosen)
    order = np.argsort(support)
    return Solution(support[order], weights[chosen[order]], residual, certificate)


def _lowest_twins(problem: Problem, rows: Rows, chosen: Rows) -> Rows:
    """The first row identical to each chosen one (places in `rows`), among those of equal penalty.

    At l2 = 0 such rows sit exactly at their penalty, so all of them are in evidence.
    """
    vectors = problem.corpus.documents[rows] + np.float32(0.0)  # −0 and +0 are the same number
    penalties = problem.penalties(rows).tolist()
    keys = [(vector.tobytes(), penalty) for vector, penalty in zip(vectors, penalties, strict=True)]
    first: dict[tuple[bytes, float], int] = {}
    for row, key in zip(rows.tolist(), keys, strict=True):
        first[key] = min(row, first.get(key, row))
    return np.array([first[keys[place]] for place in chosen.tolist()], dtype=np.intp)


def _norm(vector: Float64) -> float:
    return math.sqrt(vector @ vector)
