"""The corpus: document vectors, prepared once for many problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.errors import RescorerError

Rows = NDArray[np.intp]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

_UNIT_ROUNDOFF = 2.0**-24
"""Unit roundoff of float32, in which the corpus is scanned."""
_SMALL = 1024
_FINITE = np.errstate(invalid="ignore")
"""Products of finite rows: kernels of BLAS may set the flag over lanes that they throw away (OpenBLAS #1924,
numpy #24067); seen once in some twenty sweeps of 5,000 problems. A value that overflows is still reported."""


class InvalidProblem(RescorerError, ValueError):
    """Vectors or penalties for which no solution is defined; names the argument and what is expected."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument


class CoarseCorrelations(Protocol):
    """Approximate correlations of all rows with one vector."""

    @property
    def correlations(self) -> Float32:
        """The approximations (n,)."""

    def above(self, floor: float | Float64) -> Rows:
        """Every row whose correlation is above the floor, or each its own (n,), and some below; ascending."""


class CoarseScan(Protocol):
    """A cheap scan of the corpus with a known error bound."""

    def scan(self, vector: Float64) -> CoarseCorrelations:
        """Correlations of every row with a vector (d,)."""


class Corpus:
    """Document vectors (n, d) as float32, with what the solvers derive from them.

    Unit rows are the usual case, not a requirement: any finite rows define a problem, and a zero row is never
    chosen at a non-negative penalty. Bounds use the true norms. Other float types are cast to float32.

    Args:
        documents: Rows of shape (n, d), n ≥ 1, d ≥ 1; float16, float32 or float64.
        coarse: Makes a cheaper scan of these rows (float32), which then replaces scans of the whole corpus.
            Certificates hold as before: rows that it leaves in doubt are computed.

    Raises:
        InvalidProblem: not a real matrix, empty, or with a value that is not finite in float32.
    """

    def __init__(
        self, documents: NDArray[np.floating], coarse: Callable[[Float32], CoarseScan] | None = None
    ) -> None:
        self.documents, self._energy = _finite_matrix(documents)
        self.coarse = coarse(self.documents) if coarse else None
        self.largest_norm = self._largest_norm()
        """An upper bound of max ‖d_i‖; of a small corpus the Frobenius norm, which is there already."""
        self.roundoff = (self.dimensions + 4) * _UNIT_ROUNDOFF * self.largest_norm
        """A scan in float32 is off by at most this times ‖v‖ in any row, in whatever order sums are taken."""

    @property
    def rows(self) -> int:
        """Number n of documents."""
        return len(self.documents)

    @property
    def dimensions(self) -> int:
        """Length d of every vector."""
        return int(self.documents.shape[1])

    def _largest_norm(self) -> float:
        if self.rows < _SMALL:
            squares = self._energy
        else:
            squares = float(np.einsum("ij,ij->i", self.documents, self.documents).max())
        return math.sqrt(squares) * (1.0 + 1e-6)

    @_FINITE
    def scan(self, vector: Float64) -> Float32:
        """D v for every row (n,) in float32: the scan of dense retrieval."""
        return self.documents @ vector.astype(np.float32)

    def scan_error(self, vector: Float64) -> float:
        """Upper bound of what `scan` is off by in any row."""
        return self.roundoff * math.sqrt(vector @ vector)

    def exact_rows(self, rows: Rows) -> Float64:
        """The named rows (m, d) in float64."""
        return self.documents[rows].astype(np.float64)


def _finite_matrix(documents: NDArray[np.floating]) -> tuple[Float32, float]:
    matrix = np.asarray(documents)
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidProblem("documents", f"expected a non-empty matrix (n, d), got shape {matrix.shape}")
    if matrix.dtype.kind != "f":
        raise InvalidProblem("documents", f"expected real floating-point vectors, got {matrix.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    flat = matrix.ravel()
    # One BLAS pass: the sum of squares is finite only if every value is.
    energy = float(np.dot(flat, flat))
    if not math.isfinite(energy):
        raise InvalidProblem("documents", "NaN, infinite, or too large for float32")
    return matrix, energy
