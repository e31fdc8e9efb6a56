"""The two questions that a batch asks the whole corpus: matrix products, wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.active_set import largest
from kitpick_rescorers.nnn.corpus import Corpus, Float32, Float64, Rows
from nnn.codes import Coded, Codes
from nnn.spreading import spread

_BLOCK = 4096
"""Rows of the corpus in one product: its outcome stays in the cache."""


class Near(NamedTuple):
    """Rows whose correlation with a vector reaches a floor, and some below it."""

    rows: Rows
    """Ascending (m,)."""
    correlations: Float32
    """Of these, each off by at most `error`."""
    error: float


class Scans(Protocol):
    """Products of all rows with many vectors."""

    def best(self, vectors: Float64, count: int) -> Sequence[tuple[Rows, Float32]]:
        """For each vector (b, d) about `count` rows of largest correlation, never fewer.

        The numbers beside them fall with it, and are of any unit.
        """

    def above(self, vectors: Float64, floor: float) -> Sequence[Near]:
        """For each vector (b, d) every row whose correlation is above the floor: none may be missed."""


class NumpyScans:
    """On the processor in float32, block by block."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def best(self, vectors: Float64, count: int) -> Sequence[tuple[Rows, Float32]]:
        """As `Scans.best`."""
        scores = vectors.astype(np.float32) @ self._corpus.documents.T
        return spread(lambda row: _largest_of(row, count), scores)

    def above(self, vectors: Float64, floor: float) -> Sequence[Near]:
        """As `Scans.above`."""
        left, documents = vectors.astype(np.float32), self._corpus.documents
        errors = [self._corpus.scan_error(vector) for vector in vectors]
        least = np.array([floor - error for error in errors], dtype=np.float32)
        found: list[list[tuple[Rows, Float32]]] = [[] for _ in left]
        for start in range(0, len(documents), _BLOCK):
            for parts, scores, low in zip(
                found, left @ documents[start : start + _BLOCK].T, least, strict=True
            ):
                rows = np.flatnonzero(scores > low)
                parts.append((rows + start, scores[rows]))
        return [
            Near(np.concatenate([rows for rows, _ in parts]), np.concatenate([s for _, s in parts]), error)
            for parts, error in zip(found, errors, strict=True)
        ]


class CodedScans:
    """On the processor in eight bits."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def best(self, vectors: Float64, count: int) -> Sequence[tuple[Rows, Float32]]:
        """As `Scans.best`."""
        return spread(lambda coded: _largest_of(coded.values, count), self._codes.scan_many(vectors))

    def above(self, vectors: Float64, floor: float) -> Sequence[Near]:
        """As `Scans.above`."""

        def near(coded: Coded) -> Near:
            rows = coded.above(floor)
            return Near(rows, coded.values[rows] * np.float32(coded.unit), coded.error)

        return spread(near, self._codes.scan_many(vectors))


def scans_of(corpus: Corpus) -> Scans:
    """Products in eight bits where the corpus has codes, otherwise in float32."""
    return CodedScans(corpus.coarse) if isinstance(corpus.coarse, Codes) else NumpyScans(corpus)


def _largest_of(scores: Float32 | NDArray[np.int32], count: int) -> tuple[Rows, Float32]:
    rows = largest(scores, count)
    return rows, scores[rows].astype(np.float32)
