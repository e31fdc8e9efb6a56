"""The solution path: all solutions for one query as the penalty falls, by a homotopy in l1.

The walk uses a Gram matrix of few rows. It goes from the empty set to the penalties of the problem, from
breakpoint to breakpoint. The path is then checked against the whole corpus.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.active_set import Evidence, conclude
from kitpick_rescorers.nnn.corpus import Float64, Rows
from kitpick_rescorers.nnn.gram import (
    DEPENDENT,
    SolverState,
    descend,
    drop,
    enter,
    extended,
    improve,
    opened,
    solve,
)
from kitpick_rescorers.nnn.kernels import NEVER, unflagged
from kitpick_rescorers.nnn.problem import NnnProblem, Solution

_STALLED = 1e-12
"""A step shorter than this, relative to where the walk began, is no progress."""
_MAX_TIES = 50
_SLACK = 1e-12
_NUDGE = 1e-7
_MAX_POINTS = 10_000
_FIRST_ROWS = 128
_MORE_ROWS = 64


@dataclass(frozen=True, eq=False)
class Breakpoint:
    """A change of the support: the solution at this penalty, and the row that joins or leaves."""

    shift: float
    """τ: the penalties are l1 + τ."""
    solution: Solution
    row: int
    """The row that joins or leaves here; −1 where the path starts, ends or had to be taken up anew."""
    joins: bool


@dataclass(frozen=True, eq=False)
class Path:
    """Solutions for every penalty l1 + τ, from the first non-empty one down to the problem's own, τ = 0.

    Between two breakpoints z is linear in τ. Violations of rows beyond the support are convex in τ there, so
    the certificates of both ends cover what lies between.
    """

    problem: NnnProblem
    breakpoints: tuple[Breakpoint, ...]
    """By falling τ, the last at τ = 0."""

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


@unflagged
def solve_path(problem: NnnProblem, *, tolerance: float = 1e-6) -> Path:
    """Walks from the penalty at which nothing is chosen down to the problem's own.

    This is LARS with the lasso's drops (Efron, Hastie, Johnstone & Tibshirani, 2004). The path is walked on a
    working set, and then held against the whole corpus at all its breakpoints in one matrix product. Rows
    that violate anywhere join the working set, and it is walked again.

    Args:
        problem: Fixes the query, l2 and the penalties at which the path ends; one per row keep their
            differences all along.
        tolerance: Largest violation that counts as none.
    """
    corpus = problem.corpus
    working = WorkingSet(problem, _first_rows(problem))
    while True:
        points = walk(working.state)
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


def _first_rows(problem: NnnProblem) -> Rows:
    scores = problem.corpus.scan(problem.query) - problem.l1
    if len(scores) <= _FIRST_ROWS:
        return np.arange(len(scores))
    return np.argpartition(scores, -_FIRST_ROWS)[-_FIRST_ROWS:]


def _residual(problem: NnnProblem, working: WorkingSet, point: PathPoint) -> Float64:
    return problem.query - point.z @ working.vectors[point.active]


def _suspects(problem: NnnProblem, residuals: Float64, shifts: Float64, known: NDArray[np.bool_]) -> Rows:
    """Unknown rows that may violate at any of the residuals (b, d)."""
    corpus = problem.corpus
    correlations = corpus.documents @ residuals.T.astype(np.float32)
    margins = shifts - np.array([corpus.scan_error(residual) for residual in residuals])
    correlations -= margins.astype(np.float32)
    above = correlations.max(axis=1) > problem.l1
    return np.flatnonzero(above & ~known)


def _certified(
    problem: NnnProblem,
    working: WorkingSet,
    point: PathPoint,
    residual: Float64,
    suspects: Rows,
    tolerance: float,
) -> Breakpoint:
    rows = np.append(working.rows, suspects)
    weights = np.zeros(len(rows))
    weights[point.active] = point.z
    correlations = np.append(working.vectors @ residual, problem.corpus.exact_rows(suspects) @ residual)
    here = NnnProblem(problem.corpus, problem.query, problem.l1 + point.shift, problem.l2)
    evidence = Evidence(rows, weights, correlations, residual, problem.corpus.rows)
    solution = conclude(here, evidence, tolerance=tolerance, rounds=1)
    row = -1 if point.position < 0 else int(working.rows[point.position])
    return Breakpoint(point.shift, solution, row, point.joins)


class WorkingSet:
    """Rows of the corpus and the state that a solver works on.

    Args:
        problem: The problem over the whole corpus.
        rows: The first rows (w,), distinct.
    """

    def __init__(self, problem: NnnProblem, rows: Rows) -> None:
        self._problem = problem
        self.rows = rows
        self.holds = np.zeros(problem.corpus.rows, dtype=bool)
        self.holds[rows] = True
        self.state = opened(*self._vectors_and_linear(rows), problem.l2)

    @property
    def vectors(self) -> Float64:
        """Its rows (w, d) in float64."""
        return self.state.vectors

    def extend(self, rows: Rows) -> None:
        """Adds corpus rows that are not in it yet."""
        self.state = extended(self.state, 0, *self._vectors_and_linear(rows))
        self.rows = np.append(self.rows, rows)
        self.holds[rows] = True

    def _vectors_and_linear(self, rows: Rows) -> tuple[Float64, Float64]:
        vectors = self._problem.corpus.exact_rows(rows)
        return vectors, vectors @ self._problem.query - self._problem.penalties(rows)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """An event of the walk: the state after it, at penalties l1 + shift."""

    shift: float
    active: Rows
    """Positions in the working set."""
    z: Float64
    position: int
    """Row that joined or left; −1 at the ends and where the walk was restarted."""
    joins: bool


class _Walker:
    """Active rows at a shift τ, with e = D_W r − l1 − τ of all rows."""

    def __init__(self, state: SolverState) -> None:
        self.state = state._replace(
            factor=np.zeros_like(state.factor), active=np.zeros_like(state.active), z=np.zeros_like(state.z)
        )
        self.k = 0
        self.shift = self.start = max(0.0, float(state.linear.max(initial=0.0)))
        self.last_left = -1
        self.nudge = _NUDGE * self.start

    @property
    def active(self) -> Rows:
        return self.state.active[: self.k]

    @property
    def z(self) -> Float64:
        return self.state.z[: self.k]

    def point(self, position: int, *, joins: bool) -> PathPoint:
        return PathPoint(self.shift, self.active.copy(), self.z.copy(), position, joins)

    def next_event(self) -> tuple[float, int, bool]:
        """How far τ falls until a row joins or leaves, which one (a position), and whether it joins."""
        gram, linear = self.state.gram, self.state.linear
        growth = solve(self.state.factor, self.k, np.ones(self.k))
        excess = linear - self.shift - self.z @ gram[self.active]
        rate = 1.0 - growth @ gram[self.active]
        rate[self.active] = 0.0
        if self.last_left >= 0:
            rate[self.last_left] = 0.0
        joining = np.where(
            rate > _STALLED, np.maximum(-excess, 0.0) / np.where(rate > _STALLED, rate, 1.0), np.inf
        )
        leaving = np.where(growth < 0, self.z / np.where(growth < 0, -growth, 1.0), np.inf)
        first = int(joining.argmin())
        if self.k and leaving.min() <= joining[first]:
            return float(leaving.min()), int(self.active[leaving.argmin()]), False
        return float(joining[first]), first, True

    def move(self, step: float) -> bool:
        """Lets τ fall and solves for the active rows anew, so that rounding does not add up.

        Returns:
            Whether the outcome is optimal: ties and nearly dependent rows can mislead the walk.
        """
        self.shift = max(0.0, self.shift - step)
        gram, active = self.state.gram, self.active
        right = self.state.linear[active] - self.shift
        z = solve(self.state.factor, self.k, right)
        z += solve(self.state.factor, self.k, right - gram[np.ix_(active, active)] @ z - self.state.l2 * z)
        self.state.z[: self.k] = np.maximum(0.0, z)
        excess = self.state.linear - self.shift - z @ gram[active]
        excess[active] = 0.0
        slack = _SLACK * (100.0 + float(np.abs(z).max(initial=0.0)))
        return bool(z.min(initial=0.0) >= -slack and excess.max() <= slack)

    def apply(self, position: int, *, joins: bool) -> bool:
        """Changes the active set; False where the row depends on those that are active."""
        if joins:
            grown = enter(self.state, self.k, position, DEPENDENT)
            self.last_left = -1
            changed, self.k = grown > self.k, grown
            return changed
        self.k = drop(self.state, self.k, self.active == position)
        self.last_left = position
        return True

    def take_up_anew(self) -> None:
        """Solves at a slightly lower penalty by the active-set method, to pass ties and dependent rows."""
        self.shift = max(0.0, self.shift - self.nudge)
        self.nudge *= 2.0
        here = self.state._replace(linear=self.state.linear - self.shift)
        self.k = descend(here, self.k, NEVER)
        known = np.zeros(len(here.linear), dtype=np.bool_)
        self.k, _ = improve(here, self.k, known, _STALLED, _MAX_POINTS, NEVER)
        self.last_left = -1


def walk(state: SolverState) -> list[PathPoint]:
    """Every event from the largest correlation down to shift 0. The state's working arrays are left alone."""
    walker = _Walker(state)
    points = [walker.point(-1, joins=False)]
    stalls = 0
    while walker.shift > 0.0 and len(points) < _MAX_POINTS:
        step, position, joins = walker.next_event()
        ends = step >= walker.shift
        stalls = stalls + 1 if step <= _STALLED * walker.start else 0
        sound = walker.move(min(step, walker.shift)) and stalls <= _MAX_TIES
        if sound and ends:
            break
        # A row that leaves at a weight which rounding kept from 0 must not take its part with it.
        if sound and walker.apply(position, joins=joins) and (joins or walker.move(0.0)):
            points.append(walker.point(position, joins=joins))
            walker.nudge = _NUDGE * walker.start
        else:
            # What is taken up anew may weigh dependent rows otherwise: up to a hair before, all was linear.
            if walker.move(-0.5 * walker.nudge) and walker.shift < points[-1].shift:
                points.append(walker.point(-1, joins=False))
            walker.take_up_anew()
            points.append(walker.point(-1, joins=False))
            stalls = 0
    if points[-1].shift > walker.shift:
        points.append(walker.point(-1, joins=False))
    return points
