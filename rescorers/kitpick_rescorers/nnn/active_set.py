"""Exact NNN decoding by an active set: a small working set, in a pool of likely rows, in the corpus.

From the outside in: `solve_active_set` lets rows join the pool until the audit of the corpus finds none that
violates; a pool is solved as if there were no other rows; inside it a working set grows until no row of the
pool violates.

The audit finds every row that can break optimality at a residual, from few scans of the corpus.
What a scan at one vector v tells about the correlations with another, r: with a = rᵀv/‖v‖, r = a·v/‖v‖ + r⊥
and x_j = d_jᵀv/‖v‖, Cauchy–Schwarz gives

    d_jᵀr ≤ a x_j + √(‖d_j‖² − x_j²)·‖r⊥‖ = ‖d_j‖‖r‖ cos(θ_j − φ),   cos θ_j = x_j/‖d_j‖,   cos φ = a/‖r‖,

so every row with x_j ≤ ν cos(φ + arccos(l1_j / ν‖r‖)), ν ≥ max ‖d_j‖, is below its penalty: one comparison a
row. The first scan is at v = q; after a later scan, v is the residual of that moment and φ is small. Both the
bound and the scans allow for the rounding of float32. A coarse scan takes the place of that bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_rescorers.nnn.corpus import Float32, Float64, Rows
from kitpick_rescorers.nnn.gram import (
    DEPENDENT,
    SolverState,
    descend,
    enter,
    extended,
    improve,
    opened,
    residual_of,
)
from kitpick_rescorers.nnn.kernels import (
    NEVER,
    Stop,
    compiled,
    exact_scan,
    product,
    scan_rows,
    stopping,
    unflagged,
)
from kitpick_rescorers.nnn.problem import Certificate, NnnProblem, Solution, duality_gap, violation

POOL_ROWS = 256
"""A corpus of so few rows is looked at as a whole every time."""
_FIRST_ROWS = 48
"""The working set is chosen so small because few rows beyond the support are ever looked at."""
_MORE_ROWS = 64
"""Rows of the corpus that join the pool in one round at most."""
_MORE_PLACES = 32
"""Rows of the pool that join the working set in one round at most."""
_UNSEEN_ROUNDS = 8
"""Rounds without a look at the deadline: a tenth of a second of a thousand rows."""
_INNER_SHARE = 1e-4
"""The working set is solved this much tighter than what the pool is held to: it costs no further scan."""
_WORTH_GATHERING = 0.3
"""Reading scattered rows costs up to three times as much a row as a scan does."""
_SAMPLED = 16
"""Every n-th score of a long list is read to see where the largest begin."""
_LONG = 8192


@unflagged
def solve_active_set(
    problem: NnnProblem,
    *,
    tolerance: float = 1e-6,
    warm_start: Solution | None = None,
    max_rounds: int = 10_000,
    deadline: Deadline = UNLIMITED,
) -> Solution:
    """Solves to the optimum over the whole corpus, and proves it, in one to three scans.

    The best rows by one scan form a pool, the best of the pool the working set. It is solved by an active-set
    method (Lawson & Hanson, Solving Least Squares Problems, 1974, ch. 23, several violators a round) in
    float64. Then the rows of the pool that the residual violates join it, until there are none, and then
    those of the whole corpus, found by `Audit`. A corpus with a coarse scan is scanned by that.

    *Termination.* After every round z minimises P over its support, with z > 0 there, so P is a function of
    the support. It falls strictly: let N be the violators entering at z_N = 0. The step p towards the
    minimiser over S ∪ N is a direction of descent with gradient 0 on S and −e_N < 0 on N, hence p_j > 0 for
    some j in N. Those of N with p_j ≤ 0 are dropped at once (never all of N), after which the step has
    positive length, and P falls; every further drop continues from there without raising it. A row dependent
    on the support enters by an exchange that lowers P at rate e_j over a positive length. So no support comes
    back, and there are finitely many. Rounding can break strictness only below the tolerance; a set of
    entering rows that changes nothing is then refused in the following round, and `max_rounds` bounds
    everything.

    Args:
        problem: What to solve.
        tolerance: Largest violation of the optimality conditions that counts as none, > 0.
        warm_start: A solution of a nearby problem over the same corpus.
        max_rounds: Bound on the rounds; when it is reached the certificate says how far the answer is.
        deadline: When to give up.

    Returns:
        A solution whose certificate is `exact`, or shows what it lacks.

    Raises:
        DeadlineExceeded: nobody waits any more.
    """
    audit = Audit(problem)
    pooled = first_pool(problem, _scores(problem, audit), warm_start)
    rounds = 0
    with stopping(deadline) as stop:
        while True:
            rounds += pooled.settle(tolerance, max_rounds - rounds, deadline, stop)
            deadline.check("decoding")
            suspects = audit.suspects(pooled.residual, pooled.rows)
            violators = worst(problem, suspects, tolerance)
            if not len(violators) or rounds >= max_rounds:
                break
            pooled.widen(violators)
            rounds += 1
    return conclude(problem, pooled.evidence(suspects), tolerance=tolerance, rounds=rounds)


def first_pool(problem: NnnProblem, correlations: Float32, warm_start: Solution | None = None) -> PoolSolver:
    """The rows of largest d_jᵀq − l1 by some estimate of the correlations (n,); all of a small corpus."""
    scores = correlations - np.asarray(problem.l1, dtype=np.float32)
    if warm_start is not None:
        scores[warm_start.support] = np.inf
    wanted = _FIRST_ROWS if warm_start is None else max(_FIRST_ROWS, len(warm_start.support))
    rows = largest(scores, max(POOL_ROWS, wanted))
    pooled = pool_of(problem, rows, scores[rows], wanted)
    if warm_start is not None:
        pooled.start_from(warm_start.support, warm_start.coefficients)
    return pooled


def pool_of(problem: NnnProblem, rows: Rows, scores: Float32, wanted: int = _FIRST_ROWS) -> PoolSolver:
    """These rows (m,), of which those with the largest scores (m,) are looked at first."""
    return PoolSolver(problem, rows, largest(scores, wanted))


def _scores(problem: NnnProblem, audit: Audit) -> Float32:
    corpus = problem.corpus
    if corpus.coarse and corpus.rows > POOL_ROWS:
        return corpus.coarse.scan(problem.query).correlations
    return corpus.scan(problem.query) if corpus.rows <= POOL_ROWS else audit.scan(problem.query)


def worst(problem: NnnProblem, suspects: Suspects, tolerance: float) -> Rows:
    """The rows that violate most, worst first."""
    excess = suspects.correlations - problem.penalties(suspects.rows)
    violators = np.flatnonzero(excess > tolerance)
    if len(violators) > _MORE_ROWS:
        violators = violators[np.argsort(-excess[violators], kind="stable")[:_MORE_ROWS]]
    return suspects.rows[violators]


@dataclass(frozen=True, eq=False)
class Suspects:
    """Unknown rows that may violate at a residual, with float64 correlations; no other one can."""

    rows: Rows
    correlations: Float64
    checked: int
    """Rows whose correlation was computed to find these."""


class Audit:
    """The scans of one solve, reused to exclude rows without computing them."""

    def __init__(self, problem: NnnProblem) -> None:
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
        rows = self._not_excluded(residual, known) if corpus.coarse is None else self._open(residual, known)
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
        """Rows beyond the known ones that the coarse scan leaves open."""
        assert self._problem.corpus.coarse is not None
        return beyond(self._problem.corpus.coarse.scan(residual).above(self._problem.l1), known)

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


def excluded_below(problem: NnnProblem, vector: Float64, residual: Float64) -> float | Float64:
    """Rows whose scanned d_jᵀv is not above this have d_jᵀr ≤ l1_j.

    One number, or one per row (n,) where the penalties are.
    """
    length, size = _norm(vector), _norm(residual)
    largest = problem.corpus.largest_norm
    if length == 0.0 or size * largest == 0.0:
        return np.where(np.asarray(problem.l1) >= size * largest, np.inf, -np.inf)
    along = float(residual @ vector) / length
    cosine, sine = along / size, _norm(residual - (along / length) * vector) / size
    levels = np.clip(np.asarray(problem.l1) / (largest * size), -2.0, 2.0)  # its square may be too large
    lowest = cosine * levels - sine * np.sqrt(np.maximum(0.0, 1.0 - np.square(levels)))
    bounds = length * largest * lowest - problem.corpus.scan_error(vector)
    below = np.where(levels >= 1.0, np.inf, np.where(levels <= -cosine, -np.inf, bounds))
    return below if below.ndim else float(below)  # float32 scans are compared with a float in float32


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


def conclude(problem: NnnProblem, evidence: Evidence, *, tolerance: float, rounds: int) -> Solution:
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


def _lowest_twins(problem: NnnProblem, rows: Rows, chosen: Rows) -> Rows:
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


class PoolSolver:
    """The solution over the pool, with its certificate.

    Args:
        problem: The problem over the whole corpus.
        rows: The pool (m,), distinct.
        first: Places in the pool (w,) of those that are looked at first.
    """

    def __init__(self, problem: NnnProblem, rows: Rows, first: Rows) -> None:
        self._problem = problem
        corpus = problem.corpus
        held = np.zeros(len(rows), dtype=np.bool_)
        self._pool = Pool(
            corpus.documents, rows, problem.penalties(rows), held, corpus.roundoff, problem.query
        )
        state = started(self._pool, first, problem.l2)
        none = np.zeros(len(first), dtype=np.bool_)
        self._now = PoolMinimum(state, 0, first, np.empty(0), problem.query, 0, none)
        self._settled = 0

    @property
    def rows(self) -> Rows:
        """All rows of the pool (m,)."""
        return self._pool.rows

    @property
    def residual(self) -> Float64:
        """Residual q − Dᵀz (d,)."""
        return self._now.residual

    def start_from(self, rows: Rows, weights: Float64) -> None:
        """Takes over weights > 0 of rows that are looked at first; dependent ones are left out."""
        state, k = self._now.state, 0
        held = self._pool.rows[self._now.places]
        positions = {row: position for position, row in enumerate(held.tolist())}
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            grown = enter(state, k, positions[row], DEPENDENT)
            if grown > k:
                state.z[k] = weight
                k = grown
        self._now = self._now._replace(k=k)

    def settle(
        self, tolerance: float, max_rounds: int, deadline: Deadline = UNLIMITED, stop: Stop = NEVER
    ) -> int:
        """Solves over the pool from where it stands; returns the rounds taken, 0 where nothing is new.

        Where somebody may leave, or others have to have their turn, it looks at the deadline now and then:
        compiled code cannot. The answer is the same to the last bit.

        Raises:
            DeadlineExceeded: nobody waits any more.
        """
        if self._settled == len(self.rows):
            return 0
        rounds, again = 0, False
        while True:
            left = max_rounds - rounds
            most = left if deadline is UNLIMITED else min(left, _UNSEEN_ROUNDS)
            self._now = settle(self._now, self._pool, tolerance, most, stop, again)
            rounds += self._now.rounds
            if self._now.rounds < most or rounds >= max_rounds or stop[0]:
                break
            again = True
            deadline.check("decoding")
        self._settled = len(self.rows)
        return rounds

    def widen(self, rows: Rows) -> None:
        """Adds corpus rows that are not in it yet; weights stay as they are."""
        pool = self._pool
        self._pool = pool._replace(
            rows=np.append(pool.rows, rows),
            penalties=np.append(pool.penalties, self._problem.penalties(rows)),
            held=np.append(pool.held, np.zeros(len(rows), dtype=np.bool_)),
        )

    def evidence(self, suspects: Suspects) -> Evidence:
        """The evidence for its rows, and for the suspects beyond, at its residual."""
        now = self._now
        weights = np.zeros(len(now.places) + len(suspects.rows))
        weights[now.state.active[: now.k]] = now.state.z[: now.k]
        rows = np.append(self._pool.rows[now.places], suspects.rows)
        correlations = np.append(now.correlations, suspects.correlations)
        return Evidence(rows, weights, correlations, now.residual, suspects.checked)


class Pool(NamedTuple):
    """Rows of the corpus from which the working set is chosen."""

    documents: Float32
    """The whole corpus (n, d)."""
    rows: Rows
    """The rows in the pool (m,), distinct."""
    penalties: Float64
    """l1 of these (m,)."""
    held: NDArray[np.bool_]
    """Which of these the working set holds (m,)."""
    roundoff: float
    """A scan in float32 is off by at most this times the length of the vector."""
    query: Float64
    """The query (d,)."""


class PoolMinimum(NamedTuple):
    """A working set at its minimum, with the correlations of its rows and of nearby rows of the pool."""

    state: SolverState
    k: int
    places: Rows
    """Places in the pool of the rows of the state (w,), then of the others that come near."""
    correlations: Float64
    """d_iᵀr of these, float64."""
    residual: Float64
    rounds: int
    refused: NDArray[np.bool_]
    """Rows of the state (w,) that `improve` left out last."""


@compiled
def settle(
    now: PoolMinimum, pool: Pool, tolerance: float, max_rounds: int, stop: Stop, again: bool
) -> PoolMinimum:
    """Minimises, and lets the worst violators of the pool join, until none exceeds the tolerance.

    With `again` it goes on where `max_rounds` ended it before, as if there had been no end.
    """
    state, k, refused = now.state, now.k, now.refused
    places = now.places[: len(state.linear)]
    rounds = 0
    while True:
        if not again:
            k = descend(state, k, stop)
            refused = np.zeros(len(state.linear), dtype=np.bool_)
        again = False
        k, done = improve(state, k, refused, _INNER_SHARE * tolerance, max_rounds - rounds, stop)
        rounds += done
        residual = residual_of(state, k, pool.query)
        near = _near(pool, residual)
        excess = exact_scan(pool.documents, pool.rows[near], residual) - pool.penalties[near]
        joining = _worst(excess, tolerance)
        if len(joining) == 0 or rounds >= max_rounds or stop[0]:
            break
        new = near[joining]
        vectors = _exact_rows(pool.documents, pool.rows[new])
        state = extended(state, k, vectors, product(vectors, pool.query) - pool.penalties[new])
        places = np.concatenate((places, new))
        pool.held[new] = True
        rounds += 1
    correlations = np.concatenate((product(state.vectors, residual), excess + pool.penalties[near]))
    return PoolMinimum(state, k, np.concatenate((places, near)), correlations, residual, rounds, refused)


@compiled
def started(pool: Pool, places: Rows, l2: float) -> SolverState:
    """A state that holds these rows of the pool (places in it), none of them active."""
    vectors = _exact_rows(pool.documents, pool.rows[places])
    pool.held[places] = True
    return opened(vectors, product(vectors, pool.query) - pool.penalties[places], l2)


@compiled
def _exact_rows(documents: Float32, rows: Rows) -> Float64:
    return documents[rows].astype(np.float64)


@compiled
def _near(pool: Pool, residual: Float64) -> Rows:
    """Places of the rows that are not held and whose d_iᵀr may exceed their penalty."""
    correlations = scan_rows(pool.documents, pool.rows, residual.astype(np.float32))
    slack = pool.roundoff * np.sqrt((residual * residual).sum())
    return np.flatnonzero((correlations > pool.penalties - slack) & ~pool.held)


@compiled
def _worst(excess: Float64, tolerance: float) -> Rows:
    """Places of those above the tolerance: all, or the largest `_MORE_PLACES`, largest first."""
    violators = np.flatnonzero(excess > tolerance)
    if len(violators) > _MORE_PLACES:
        order = np.argsort(-excess[violators], kind="mergesort")
        violators = violators[order[:_MORE_PLACES]]
    return violators


def beyond(rows: Rows, known: Rows) -> Rows:
    """The rows that are not among the known ones (at least one)."""
    ordered = np.sort(known)
    places = np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)
    found: Rows = rows[ordered[places] != rows]
    return found


def largest(scores: Float32 | NDArray[np.int32], count: int) -> Rows:
    """Places of the `count` largest scores (n,) in any order; of a long list, about `count` and never fewer.

    A long list is cut at a quantile of a sample: one comparison a score instead of a partial sort.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    if len(scores) >= _LONG:
        sample = scores[::_SAMPLED]
        wanted = -(-count // _SAMPLED) + 8
        places = np.flatnonzero(scores >= np.partition(sample, -wanted)[-wanted])
        if count <= len(places) <= 4 * count:
            return places
    return np.argpartition(scores, -count)[-count:]
