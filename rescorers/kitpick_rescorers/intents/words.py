"""Compares a request with texts by their words: the cosine of terms weighted by rarity.

The rarity of a word is counted over the texts that a caller may know of, so texts of others move no score.
Sums run in an order that no other text changes, so scores are equal to the last bit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.lexical import Mask, Terms

_KEPT = 64
"""How many sets of weights are kept: those of the latest callers with different permissions."""


class WordIndex:
    """The words of texts. Safe to use from several threads."""

    def __init__(self, texts: Sequence[str], terms: Terms) -> None:
        self._terms = terms
        self._numbers: dict[str, int] = {}
        self._rows: defaultdict[str, list[int]] = defaultdict(list)
        entries: list[tuple[int, int]] = []
        for row, text in enumerate(texts):
            for term in terms.of_request(text):  # in alphabetical order, whatever other texts hold
                self._rows[term].append(row)
                entries.append((self._numbers.setdefault(term, len(self._numbers)), row))
        held, words = np.array(entries, dtype=np.int64).reshape(-1, 2), len(self._numbers)
        self._all = np.ones(len(texts), dtype=bool)
        self._weighed = lru_cache(_KEPT)(
            lambda counted: _WordWeights(held, words, np.frombuffer(counted, bool))
        )

    def near(self, request: str, floor: float, counted: Mask | None = None) -> list[tuple[int, float]]:
        """Rows that share enough words with a request, with the share in [0, 1], the largest first.

        `counted` says which texts' words count, bool (n,); by default all. Of the others, words that none of
        these holds are as rare as a word in one of them.
        """
        weights = self._weighed((self._all if counted is None else counted).tobytes())
        asked = self._terms.of_request(request)
        squares = {term: weights.of(self._numbers.get(term)) ** 2 for term in asked}
        length = math.sqrt(sum(squares.values()))
        shared: defaultdict[int, float] = defaultdict(float)
        for term in asked:
            for row in self._rows.get(term, ()):
                shared[row] += squares[term]
        shares = ((row, min(1.0, square / (length * weights.lengths[row]))) for row, square in shared.items())
        return sorted((item for item in shares if item[1] >= floor), key=lambda item: (-item[1], item[0]))


class _WordWeights:
    """How much each word weighs, and the lengths of the texts by that."""

    def __init__(self, entries: NDArray[np.int64], words: int, counted: Mask) -> None:
        """`entries` are words and rows (m, 2), row by row."""
        word, row = entries.T
        texts = max(1, int(np.count_nonzero(counted)))
        holders = np.maximum(1, np.bincount(word, weights=counted[row], minlength=words))
        self._rarity = [math.log1p(texts / count) for count in holders.tolist()]
        self._unseen = math.log1p(texts)
        squares = np.array(self._rarity)[word] ** 2
        self.lengths: list[float] = np.sqrt(np.bincount(row, squares, minlength=len(counted))).tolist()

    def of(self, word: int | None) -> float:
        """The weight of a word by its number; None for one of no text."""
        return self._unseen if word is None else self._rarity[word]
