"""Near-duplicates: APIs that say almost the same, whatever tool they belong to."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.document import ApiDocument
from toolrank_engines.text import plain, split_identifier

WORDS = 0.8
"""Cosine of the weighted words above which two APIs may be duplicates …"""
MEANING = 0.7
"""… if that of their vectors is above this."""
ALIKE = 0.95
"""Cosine of the vectors that is enough alone."""
_BUCKETS = 4_096
_BLOCK = 1_024
_WORD = re.compile(r"\w+")

Pair = tuple[int, int, float, float]
"""Two positions, the first one lower, with the cosines of their words and of their vectors."""


def near_duplicates(documents: Sequence[ApiDocument], vectors: NDArray[np.float32]) -> Iterator[Pair]:
    """Every pair that says almost the same, in the order of positions; n² / 2 products, block by block.

    Words are those of name, description and parameters, without tool and category: a copy in another tool is
    a copy. Their weights are TF-IDF, hashed into 4,096 signed buckets (Weinberger et al., ICML 2009).

    Args:
        documents: the APIs (n).
        vectors: their unit vectors (n, d).
    """
    words = word_vectors(documents)
    for start in range(0, len(documents), _BLOCK):
        rows = slice(start, start + _BLOCK)
        by_word, by_vector = words[rows] @ words[start:].T, vectors[rows] @ vectors[start:].T
        alike = ((by_word > WORDS) & (by_vector > MEANING)) | (by_vector > ALIKE)
        for row, column in zip(*np.nonzero(np.triu(alike, 1)), strict=True):
            cosines = float(by_word[row, column]), float(by_vector[row, column])
            yield int(start + row), int(start + column), *cosines


def say_the_same(words: float, meaning: float) -> bool:
    """Whether two cosines, of the weighted words and of the vectors, make near-duplicates."""
    return (words > WORDS and meaning > MEANING) or meaning > ALIKE


def word_vectors(documents: Sequence[ApiDocument]) -> NDArray[np.float32]:
    """Unit vectors of weighted words, float32 (n, 4096)."""
    return WordWeights(documents).vectors(documents)


class WordWeights:
    """How much each word says, by the APIs of a catalog."""

    def __init__(self, documents: Iterable[ApiDocument]) -> None:
        self._spread: Counter[str] = Counter()
        self._apis = 0
        for document in documents:
            self._spread.update(_words(document).keys())
            self._apis += 1

    def vectors(self, documents: Sequence[ApiDocument]) -> NDArray[np.float32]:
        """Unit vectors of the words of some of them, float32 (n, 4096); zero where there is no word."""
        rows = np.zeros((len(documents), _BUCKETS), dtype=np.float32)
        for row, document in zip(rows, documents, strict=True):
            for word, count in _words(document).items():
                digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
                rarity = math.log((self._apis + 1) / max(1, self._spread[word]))
                weight = (1 + math.log(count)) * rarity
                row[digest % _BUCKETS] += weight if digest >> 31 else -weight
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def _words(document: ApiDocument) -> Counter[str]:
    """The name counts twice: of two short descriptions it says most."""
    name = split_identifier(document.api)
    names = " ".join(split_identifier(parameter.name) for parameter in document.parameters)
    text = f"{name} {name} {plain(document.description, 600)} {names}"
    return Counter(_WORD.findall(text.lower()))
