"""The whole family of answers for one query, as the penalty falls: a homotopy in l1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.audit import Evidence, conclude
from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.problem import Problem, Solution
from toolrank_rescorers.nnn.walk import Point, walk
from toolrank_rescorers.nnn.working_set import WorkingSet

_FIRST_ROWS = 128
_MORE_ROWS = 64


@dataclass(frozen=True, eq=False)
class Breakpoint:
    """Where the support changes: what holds at this penalty, and the row whose joining or leaving made it."""

    shift: float
    """τ: the penalties are l1 + τ."""
    solution: Solution
    row: int
    """The row that joins or leaves here; −1 where the path starts, ends or had to be taken up anew."""
    joins: bool


@dataclass(frozen=True, eq=False)
class Path:
    """Answers for every penalty l1 + τ from the first that chooses anything down to the problem's own, τ = 0.

    Between two breakpoints z is linear in τ. Violations of rows beyond the support are convex in τ there, so
    the certificates of both ends cover what lies between.
    """

    problem: Problem
    breakpoints: tuple[Breakpoint, ...]
    """By falling τ, the last at τ = 0 unless `max_support` ended the path before."""

    def at(self, shift: float) -> tuple[Rows, Float64]:
        """Support, ascending, and coefficients at l1 + τ, for τ from the last breakpoint's upwards."""
        shifts = np.array([point.shift for point in self.breakpoints])
        after = int(np.searchsorted(-shifts, -shift, side="right"))
        if after == 0:
            return np.empty(0, dtype=np.intp), np.empty(0)
        if after == len(shifts):
            return self.breakpoints[-1].solution.support, self.breakpoints[-1].solution.coefficients
        upper, lower = self.breakpoints[after - 1], self.breakpoints[after]
        share = (upper.shift - shift) / (upper.shift - lower.shift)
        rows = np.union1d(upper.solution.support, lower.solution.support)
        z = np.zeros(len(rows))
        z[np.searchsorted(rows, upper.solution.support)] += (1 - share) * upper.solution.coefficients
        z[np.searchsorted(rows, lower.solution.support)] += share * lower.solution.coefficients
        return rows[z > 0], z[z > 0]

    def order_of_joining(self) -> Rows:
        """Rows by when they first joined: what the query asks for first comes first."""
        joined = [point.row for point in self.breakpoints if point.joins]
        return np.array(list(dict.fromkeys(joined)), dtype=np.intp)

    @property
    def exact(self) -> bool:
        """Every breakpoint is optimal within the tolerance over the whole corpus."""
        return all(point.solution.certificate.exact for point in self.breakpoints)


def solve_path(problem: Problem, *, tolerance: float = 1e-6, max_support: int | None = None) -> Path:
    """Walks from the penalty at which nothing is chosen down to the problem's own.

    This is LARS with the lasso's drops (Efron, Hastie, Johnstone & Tibshirani, 2004). The path is walked on a
    working set, and then held against the whole corpus at all its breakpoints in one matrix product. Rows
    that violate anywhere join the working set, and it is walked again.

    Args:
        problem: Fixes the query, l2 and the penalties at which the path ends; one per row keep their
            differences all along.
        tolerance: Largest violation that counts as none.
        max_support: End the path where so many rows are active.
    """
    corpus = problem.corpus
    working = WorkingSet(problem, _first_rows(problem))
    limit = corpus.rows + 1 if max_support is None else max_support
    while True:
        points = walk(working.state, limit)
        residuals = np.stack([_residual(problem, working, point) for point in points])
        shifts = np.array([point.shift for point in points])
        suspects = _suspects(problem, residuals, shifts, working.holds)
        excess = corpus.exact_rows(suspects) @ residuals.T - problem.penalties(suspects)[:, None] - shifts
        worst = excess.max(axis=1, initial=-np.inf)
        violators = suspects[np.argsort(-worst, kind="stable")][: int((worst > tolerance).sum())]
        if not len(violators):
            break
        working.extend(violators[:_MORE_ROWS])
    breakpoints = [
        _certified(problem, working, point, residual, suspects, tolerance)
        for point, residual in zip(points, residuals, strict=True)
    ]
    return Path(problem, tuple(breakpoints))


def _first_rows(problem: Problem) -> Rows:
    scores = problem.corpus.scan(problem.query) - problem.l1
    if len(scores) <= _FIRST_ROWS:
        return np.arange(len(scores))
    return np.argpartition(scores, -_FIRST_ROWS)[-_FIRST_ROWS:]


def _residual(problem: Problem, working: WorkingSet, point: Point) -> Float64:
    return problem.query - point.z @ working.vectors[point.active]


def _suspects(problem: Problem, residuals: Float64, shifts: Float64, known: NDArray[np.bool_]) -> Rows:
    """Unknown rows that may violate at any of the residuals (b, d)."""
    corpus = problem.corpus
    correlations = corpus.documents @ residuals.T.astype(np.float32)
    margins = shifts - np.array([corpus.scan_error(residual) for residual in residuals])
    correlations -= margins.astype(np.float32)
    above = correlations.max(axis=1) > problem.l1
    return np.flatnonzero(above & ~known)


def _certified(
    problem: Problem,
    working: WorkingSet,
    point: Point,
    residual: Float64,
    suspects: Rows,
    tolerance: float,
) -> Breakpoint:
    rows = np.append(working.rows, suspects)
    weights = np.zeros(len(rows))
    weights[point.active] = point.z
    correlations = np.append(working.vectors @ residual, problem.corpus.exact_rows(suspects) @ residual)
    here = Problem(problem.corpus, problem.query, problem.l1 + point.shift, problem.l2)
    evidence = Evidence(rows, weights, correlations, residual, problem.corpus.rows)
    solution = conclude(here, evidence, tolerance=tolerance, rounds=1)
    row = -1 if point.position < 0 else int(working.rows[point.position])
    return Breakpoint(point.shift, solution, row, point.joins)
