"""The two questions that a batch asks the whole corpus: matrix products, wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.corpus import Corpus, Float32, Float64, Rows
from toolrank_rescorers.nnn.selecting import largest

_BLOCK = 4096
"""Rows of the corpus in one product: its outcome stays in the cache."""


class Scans(Protocol):
    """Products of all rows with many vectors, in float32 without shortcuts: certificates allow for no more.

    That is rounding to nearest at every operation, in any order of summation, as `Corpus.roundoff` assumes.
    """

    def best(self, vectors: Float64, count: int) -> Sequence[tuple[Rows, Float32]]:
        """For each vector (b, d) about `count` rows of largest correlation, never fewer, and these."""

    def above(self, vectors: Float64, floors: NDArray[np.float32]) -> Sequence[Rows]:
        """For each vector (b, d) every row whose correlation is above its floor (b,), ascending."""


class NumpyScans:
    """On the processor, block by block; the first by the sketch where there is one."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def best(self, vectors: Float64, count: int) -> Sequence[tuple[Rows, Float32]]:
        """As `Scans.best`."""
        found = []
        for scores in (self._corpus.sketch or self._corpus).scan_many(vectors):
            rows = largest(scores, count)
            found.append((rows, scores[rows]))
        return found

    def above(self, vectors: Float64, floors: NDArray[np.float32]) -> Sequence[Rows]:
        """As `Scans.above`."""
        left, documents = vectors.astype(np.float32), self._corpus.documents
        found: list[list[Rows]] = [[] for _ in left]
        for start in range(0, len(documents), _BLOCK):
            above = left @ documents[start : start + _BLOCK].T > floors[:, None]
            which, rows = np.nonzero(above)
            for number, part in enumerate(np.split(rows, np.searchsorted(which, np.arange(1, len(left))))):
                found[number].append(part + start)
        return [np.concatenate(parts) for parts in found]
