"""The rows of a problem: document vectors, prepared once for many problems, and words beside them.

A hybrid row is [√w · dense; √(1−w) · words], the query likewise, so that inner products are w · cosine of the
vectors + (1−w) · cosine of tf-idf (Salton & Buckley, Term-weighting approaches in automatic text retrieval,
1988), and the residual also holds the words not yet explained. Only the query's words get a dimension: two
documents are alike in words as far as the query goes. Each row still has the length that its other words
leave to these.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.lexical import request_words
from kitpick_engines.text import split_identifier
from kitpick_rescorers.errors import RescorerError

Rows = NDArray[np.intp]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

_UNIT_ROUNDOFF = 2.0**-24
"""Unit roundoff of float32, in which the corpus is scanned."""
_SMALL = 1024
_WORD = re.compile(r"[^\W_]+")
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


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Unit tf-idf vectors, restricted to the words of one query."""

    words: tuple[str, ...]
    """The query's (w,), in its order, without stop words."""
    rows: Float64
    """Weights of the documents (n, w): rows of length ≤ 1."""
    query: Float64
    """Weights of the query (w,): of unit length, or zero if no document has any of its words."""

    @classmethod
    def of(cls, texts: Sequence[str], query: str) -> Lexicon:
        """Counts words in texts; how rare a word is, is judged among these."""
        words = tuple(request_words(query))
        if not words:
            return cls((), np.zeros((len(texts), 0)), np.zeros(0))
        counts = [Counter(_words_of(text)) for text in texts]
        holders = Counter(word for count in counts for word in count)
        rarity = {word: np.log((1 + len(texts)) / (1 + held)) + 1.0 for word, held in holders.items()}
        rows = np.array([_unit_weights(count, rarity, words) for count in counts]).reshape(-1, len(words))
        asked = np.array([rarity.get(word, 0.0) for word in words])
        length = float(np.linalg.norm(asked))
        return cls(words, rows, asked / length if length else asked)


@dataclass(frozen=True, eq=False)
class Hybrid:
    """Documents and query of which the share w is dense."""

    rows: Float64
    """(n, d + w)."""
    query: Float64
    """(d + w,)."""
    words: tuple[str, ...]
    """Words of the last dimensions."""
    dense_share: float

    @classmethod
    def of(
        cls, vectors: NDArray[np.floating], query: NDArray[np.floating], lexicon: Lexicon, dense_share: float
    ) -> Hybrid:
        """Puts unit vectors (n, d) and (d,) beside the words.

        Raises:
            InvalidProblem: the share is not in (0, 1], or there are not as many vectors as texts.
        """
        if not 0.0 < dense_share <= 1.0:
            raise InvalidProblem("dense_share", f"expected a number in (0, 1], got {dense_share!r}")
        if len(vectors) != len(lexicon.rows):
            raise InvalidProblem("vectors", f"{len(vectors)} vectors for {len(lexicon.rows)} texts")
        dense, lexical = dense_share**0.5, (1.0 - dense_share) ** 0.5
        rows = np.concatenate([dense * np.asarray(vectors, dtype=np.float64), lexical * lexicon.rows], axis=1)
        asked = np.concatenate([dense * np.asarray(query, dtype=np.float64), lexical * lexicon.query])
        return cls(rows, asked, lexicon.words, dense_share)

    def direction_left(self, residual: Float64) -> Float64:
        """The dense part of a residual (d,), on the scale of the vectors: what to search neighbours of."""
        direction: Float64 = residual[: len(residual) - len(self.words)] / self.dense_share**0.5
        return direction

    def words_left(self, residual: Float64) -> Mapping[str, float]:
        """Words that the chosen rows do not explain, most missing first, and what share of each is left."""
        weights = residual[len(residual) - len(self.words) :]
        asked = self.query[len(residual) - len(self.words) :]
        left = {
            word: float(weight / whole)
            for word, weight, whole in zip(self.words, weights, asked, strict=True)
            if whole > 0 and weight > 0
        }
        return dict(sorted(left.items(), key=lambda item: -item[1]))


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


@lru_cache(1_024)
def _words_of(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(split_identifier(text)))


def _unit_weights(count: Counter[str], rarity: Mapping[str, float], words: Sequence[str]) -> Float64:
    """Weights of these words in the unit tf-idf vector of a document."""
    often = np.log1p(np.fromiter(count.values(), np.float64, len(count)))
    weights = dict(zip(count, often * [rarity[word] for word in count], strict=True))
    length = np.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
    return np.array([weights.get(word, 0.0) / length for word in words])
