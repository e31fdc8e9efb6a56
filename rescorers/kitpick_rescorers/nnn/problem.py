"""The convex problem of non-negative elastic net (NNN) decoding, its solution and its certificate.

The certificate proves that a z is optimal, or bounds how far it is from the optimum.

With r = q − Dᵀz, e_i = d_iᵀr − l1_i, the optimality (KKT) conditions are e_i = l2 z_i where z_i > 0 and
e_i ≤ 0 elsewhere. Both measures below need only the rows with z_i > 0 or e_i > 0: every other row adds
nothing, once it is *known* to have e_i ≤ 0.

*Gap.* For l2 > 0 the Fenchel dual at ν = r is feasible whatever r is, and the terms cancel to

    P(z) − D(r) = Σ_i (l2 z_i − e_i)² / 2 l2   over rows with e_i > 0
                + Σ_i z_i (½ l2 z_i − e_i)     over the others.

For l1 > 0 the problem is a non-negative lasso on the rows [d_i; √l2 u_i], with residual r̃ of squared length
R = ‖r‖² + l2‖z‖² and correlations h_i = d_iᵀr − l2 z_i. Scaling r̃ by 1/s, s = max(1, max h_i / l1_i), is
feasible:

    P(z) − D(r̃/s) = ½ R (1 − 1/s)² + Σ_i z_i (l1_i − h_i / s).

Both are upper bounds of P(z) − P*; the smaller is reported. At l1 = l2 = 0 neither applies, no bound that
survives rounding is known, and the gap is infinite: there only the violation certifies. (Boyd & Vandenberghe,
Convex Optimization, 5.1; Fercoq, Gramfort & Salmon, Mind the duality gap, 2015.)

*Account.* An answer in terms that a person can check: who explains what, who gave way to whom, what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.corpus import Corpus, Float64, InvalidProblem, Rows
from kitpick_rescorers.nnn.kernels import compiled

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Account:
    """The account of a solution, by row of the corpus (n,)."""

    shares: Float64
    """z_i d_iᵀq / ‖q‖²: how much of the query a row explains; they add up to 1 − qᵀr / ‖q‖²."""
    shortfalls: Float64
    """l1_i − d_iᵀr: how far a row is from being chosen; not above 0 in the support."""
    gave_way_to: Rows
    """The chosen row that took most from a row which would have been chosen by itself; −1 for others."""
    cosines: Float64
    """Cosine with that row; 0 where there is none."""

    @property
    def next_in_line(self) -> Rows:
        """Rows outside the support by how near they came to being chosen."""
        order = np.argsort(self.shortfalls, kind="stable")
        beyond: Rows = order[self.shares[order] == 0.0]
        return beyond


def account(problem: NnnProblem, solution: Solution) -> Account:
    """Explains a solution. Costs two products with the corpus: for candidates, not for catalogs.

    Row i of the support takes z_i d_iᵀd_j from what row j would otherwise correlate with the query.
    """
    rows = problem.corpus.documents.astype(np.float64)
    chosen = rows[solution.support]
    alone = rows @ problem.query
    energy = float(problem.query @ problem.query) or 1.0
    shares = np.zeros(len(rows))
    shares[solution.support] = solution.coefficients * alone[solution.support] / energy
    penalties = np.broadcast_to(problem.l1, len(rows))
    suppressed = alone > penalties
    suppressed[solution.support] = False
    gave_way_to, cosines = _rivals(rows, chosen, solution, suppressed)
    return Account(shares, penalties - rows @ solution.residual, gave_way_to, cosines)


def _rivals(
    rows: Float64, chosen: Float64, solution: Solution, suppressed: NDArray[np.bool_]
) -> tuple[Rows, Float64]:
    rivals, cosines = np.full(len(rows), NOBODY), np.zeros(len(rows))
    places = np.flatnonzero(suppressed)
    if len(places) and len(chosen):
        products = rows[places] @ chosen.T
        strongest = (products * solution.coefficients).argmax(axis=1)
        lengths = np.linalg.norm(rows[places], axis=1) * np.linalg.norm(chosen, axis=1)[strongest]
        rivals[places] = solution.support[strongest]
        cosines[places] = products[np.arange(len(places)), strongest] / np.where(lengths > 0, lengths, 1.0)
    return rivals, cosines


@dataclass(frozen=True)
class Certificate:
    """Largest violation of the optimality conditions, duality gap, and how much of the corpus they cover."""

    violation: float
    """max over the covered rows: |e_i − l2 z_i| in the support, max(e_i, 0) beyond it."""
    gap: float
    """Upper bound of P(z) − P* over the covered rows; infinite where l1 = l2 = 0."""
    tolerance: float
    """The violation that was asked for."""
    rows: int
    """Size of the corpus."""
    checked_rows: int
    """Rows whose correlation with the final residual was computed."""
    excluded_rows: int
    """Further rows that a bound proves to satisfy their condition."""
    rounds: int
    """Rounds or iterations that the solver took."""

    @property
    def exact(self) -> bool:
        """Optimal within the tolerance over the whole corpus."""
        return self.checked_rows + self.excluded_rows == self.rows and self.violation <= self.tolerance


@compiled
def violation(excess: Float64, coefficients: Float64, l2: float) -> float:
    """Largest violation among rows with these e_i and z_i."""
    missed = np.where(coefficients > 0.0, np.abs(excess - l2 * coefficients), excess)
    return max(0.0, missed.max()) if len(missed) else 0.0


@compiled
def duality_gap(
    correlations: Float64, penalties: Float64, z: Float64, energy: float, l2: float, positive: bool
) -> float:
    """Upper bound of P(z) − P*, of rows (m,) that are at least those with z_i > 0 or d_iᵀr > l1_i.

    Args:
        correlations: d_iᵀr (m,), float64.
        penalties: l1_i (m,).
        z: Coefficients (m,), 0 beyond the support.
        energy: ‖r‖².
        l2: Ridge penalty.
        positive: Every l1_i of the corpus is above 0, and so far that one can divide by it.
    """
    bound = np.inf
    if l2 > 0.0:
        bound = _fenchel_gap(correlations - penalties, z, l2)
    if positive:
        augmented = correlations - l2 * z
        bound = min(bound, scaled_gap(penalties, z, augmented, energy + l2 * (z * z).sum()))
    return max(0.0, bound)


@compiled
def _fenchel_gap(excess: Float64, z: Float64, l2: float) -> float:
    above = np.square(l2 * z - excess) / (2.0 * l2)
    below = z * (0.5 * l2 * z - excess)
    return float(np.where(excess > 0.0, above, below).sum())


@compiled
def scaled_gap(penalties: Float64, z: Float64, augmented: Float64, energy: float) -> float:
    """P(z) − D(r̃/s), of rows with correlations h (m,), penalties > 0, and R = `energy`."""
    scale = 1.0
    if len(z):
        scale = max(1.0, (augmented / penalties).max())
    shrink = 1.0 / scale
    return float(0.5 * energy * (1.0 - shrink) ** 2 + (z * (penalties - shrink * augmented)).sum())


_VANISHING = 1e-12
"""Dividing by a penalty below this would overflow, and prove nothing."""
_NUMBERS = (int, float, np.integer, np.floating)


class NnnProblem:
    """minimise over z ≥ 0:  P(z) = ½‖q − Dᵀz‖² + Σ l1_i z_i + ½ l2 ‖z‖²  (Eq. 1 of the NNN paper).

    D (n, d) holds the documents as rows, q (d,) is the query. With l2 > 0 the answer is unique. With l2 = 0
    the reconstruction Dᵀz is; where identical rows leave the weights open, the row of lowest penalty, then of
    lowest index, keeps all of it.

    Args:
        documents: A prepared `Corpus`, or its rows (n, d).
        query: Vector (d,), finite; unit length is usual, not required.
        l1: One penalty ≥ 0, or one per row (n,). Single rows may go below 0 only where l2 > 0, which keeps
            the problem bounded.
        l2: Ridge penalty ≥ 0.

    Raises:
        InvalidProblem: wrong shapes, values that are not finite, or penalties out of range.
    """

    __slots__ = ("corpus", "l1", "l2", "query")

    def __init__(
        self,
        documents: Corpus | NDArray[np.floating],
        query: NDArray[np.floating],
        l1: float | Float64,
        l2: float,
    ) -> None:
        self.corpus = documents if isinstance(documents, Corpus) else Corpus(documents)
        self.query = _valid_query(query, self.corpus.dimensions)
        self.l2 = _valid_ridge(l2)
        self.l1 = _valid_penalty(l1, self.corpus.rows, bounded=self.l2 > 0)

    def penalties(self, rows: Rows) -> Float64:
        """l1_i of the named rows."""
        return self.l1[rows] if isinstance(self.l1, np.ndarray) else np.full(len(rows), self.l1)

    @property
    def positive(self) -> bool:
        """Whether every l1_i is above 0, and so far that one can divide by it."""
        lowest = self.l1.min() if isinstance(self.l1, np.ndarray) else self.l1
        return bool(lowest > _VANISHING)

    def objective(self, support: Rows, coefficients: Float64) -> float:
        """P(z) of the sparse z with these entries."""
        residual = self.query - coefficients @ self.corpus.exact_rows(support)
        penalty = self.penalties(support) @ coefficients + 0.5 * self.l2 * (coefficients @ coefficients)
        return float(0.5 * (residual @ residual) + penalty)


@dataclass(frozen=True, eq=False)
class Solution:
    """A sparse z with its residual r = q − Dᵀz and its certificate."""

    support: Rows
    """Rows with z_i > 0, ascending."""
    coefficients: Float64
    """z of the support, in its order."""
    residual: Float64
    """q − Dᵀz (d,)."""
    certificate: Certificate


def ranking(solution: Solution, problem: NnnProblem, limit: int | None = None) -> Rows:
    """All rows, or the first `limit`: by coefficient, then, beyond the support, by residual correlation.

    Ties go to the lower index. Costs one dense scan unless the support fills the limit.
    """
    chosen = solution.support[np.lexsort((solution.support, -solution.coefficients))]
    wanted = problem.corpus.rows if limit is None else max(0, min(limit, problem.corpus.rows))
    if wanted <= len(chosen):
        return chosen[:wanted]
    correlation = problem.corpus.scan(solution.residual) - np.asarray(problem.l1, dtype=np.float32)
    correlation[chosen] = -np.inf
    rest = np.argsort(-correlation, kind="stable")[: wanted - len(chosen)]
    return np.concatenate([chosen, rest])


def _valid_query(query: NDArray[np.floating], dimensions: int) -> Float64:
    vector = np.asarray(query)
    if vector.shape != (dimensions,) or vector.dtype.kind != "f":
        raise InvalidProblem(
            "query",
            f"expected {dimensions} real numbers to match the documents, got {vector.dtype}{vector.shape}",
        )
    vector = vector.astype(np.float64)
    if not vector @ vector < np.finfo(np.float32).max:
        raise InvalidProblem("query", "NaN, infinite, or too large for float32")
    return vector


def _valid_ridge(l2: float) -> float:
    if not _is_penalty(l2):
        raise InvalidProblem("l2", f"expected a finite number ≥ 0, got {l2!r}")
    return float(l2)


def _valid_penalty(l1: float | Float64, rows: int, *, bounded: bool) -> float | Float64:
    if isinstance(l1, _NUMBERS):
        if not _is_penalty(l1):
            raise InvalidProblem("l1", f"expected a finite number ≥ 0, got {l1!r}")
        return float(l1)
    penalties = np.asarray(l1)
    if penalties.shape != (rows,) or penalties.dtype.kind not in "fiu":
        given = f"{penalties.dtype}{penalties.shape}"
        raise InvalidProblem("l1", f"expected one number or one per row ({rows}), got {given}")
    penalties = penalties.astype(np.float64)
    if not np.isfinite(penalties).all():
        raise InvalidProblem("l1", "NaN or infinite")
    if not bounded and penalties.min() < 0:
        raise InvalidProblem("l1", "a row's penalty below 0 needs l2 > 0, or the problem may be unbounded")
    return penalties


def _is_penalty(value: object) -> bool:
    return isinstance(value, _NUMBERS) and bool(0 <= value < np.inf)
