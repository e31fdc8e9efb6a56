"""Hybrid rows: meaning and words side by side, so that the residual also holds the words not yet explained.

A row is [√w · dense; √(1−w) · words], the query likewise, so that inner products are w · cosine of the
vectors + (1−w) · cosine of tf-idf (Salton & Buckley, Term-weighting approaches in automatic text retrieval,
1988). Only the query's words get a dimension: two documents are alike in words as far as the query goes. Each
row still has the length that its other words leave to these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.lexical import request_words
from kitpick_engines.text import split_identifier
from kitpick_rescorers.nnn.corpus import Float64, InvalidProblem

_WORD = re.compile(r"[^\W_]+")


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


def _words_of(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(split_identifier(text))]


def _unit_weights(count: Counter[str], rarity: Mapping[str, float], words: Sequence[str]) -> Float64:
    """Weights of these words in the unit tf-idf vector of a document."""
    length = np.sqrt(sum((np.log1p(times) * rarity[word]) ** 2 for word, times in count.items())) or 1.0
    return np.array([np.log1p(count[word]) * rarity.get(word, 0.0) / length for word in words])
