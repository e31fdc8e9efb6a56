"""The convex problem of non-negative elastic net (NNN) decoding, and its answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.certificate import Certificate
from toolrank_rescorers.nnn.corpus import Corpus, Float64, Rows
from toolrank_rescorers.nnn.errors import InvalidProblem

_VANISHING = 1e-12
"""Dividing by a penalty below this would overflow, and prove nothing."""
_NUMBERS = (int, float, np.integer, np.floating)


class Problem:
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
    """A sparse z with its residual r = q − Dᵀz and what is proved about it."""

    support: Rows
    """Rows with z_i > 0, ascending."""
    coefficients: Float64
    """z of the support, in its order."""
    residual: Float64
    """q − Dᵀz (d,)."""
    certificate: Certificate


def ranking(solution: Solution, problem: Problem, limit: int | None = None) -> Rows:
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
