"""Finds near-duplicates: APIs, of any tool, with almost the same description."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.text import plain, split_identifier

WORDS = 0.7
"""Cosine of the weighted words above which two APIs may be duplicates …"""
BOTH = 1.4
"""… if it and that of their vectors, which also hold tool and category, together exceed this."""
ALIKE = 0.95
"""Cosine of the vectors that is enough alone."""
_BUCKETS = 4_096
_BLOCK = 1_024
_ROOT = 5
_WORD = re.compile(r"\w+")

_PAIRS = """
accept:reject add:remove allow:deny associate:disassociate attach:detach create:delete create:update
disable:enable export:import hide:show lock:unlock open:close pause:resume register:deregister start:stop
subscribe:unsubscribe tag:untag
"""
_OPPOSITES = frozenset(frozenset(pair.split(":")) for pair in _PAIRS.split())
"""Verbs of which no two say the same, however alike the rest is."""

Cosines = NDArray[np.float32] | float

NearPair = tuple[int, int, float, float]
"""Two positions, the first one lower, with the cosines of their words and of their vectors."""


def near_duplicates(documents: Sequence[ApiDocument], vectors: NDArray[np.float32]) -> Iterator[NearPair]:
    """All pairs of near-duplicates, in the order of positions; n² / 2 products, block by block.

    Words are those of name, description and parameters, without tool and category: a copy in another tool is
    a copy. Their weights are TF-IDF, hashed into 4,096 signed buckets (Weinberger et al., ICML 2009).
    Families such as "create a thing" and "describe a thing" share nearly all words: see `distinguishable`.

    `vectors` are unit vectors of the APIs (n, d).
    """
    words = word_vectors(documents)
    for start in range(0, len(documents), _BLOCK):
        rows = slice(start, start + _BLOCK)
        by_word, by_vector = words[rows] @ words[start:].T, vectors[rows] @ vectors[start:].T
        for row, column in zip(*np.nonzero(np.triu(say_the_same(by_word, by_vector), 1)), strict=True):
            one, other = int(start + row), int(start + column)
            if not distinguishable(documents[one], documents[other]):
                yield one, other, float(by_word[row, column]), float(by_vector[row, column])


def distinguishable(one: ApiDocument, other: ApiDocument) -> bool:
    """Whether two APIs of similar words differ on purpose.

    They are if one reads and the other writes, if one undoes the other, or if in one tool a word that only
    one of their names has is in that one's description and not in the other's: an author who writes so means
    two things.
    """
    if Effect.UNKNOWN not in {one.effect, other.effect} and one.effect != other.effect:
        return True
    if frozenset((_verb(one), _verb(other))) in _OPPOSITES:
        return True
    return one.tool_key == other.tool_key and (_own_word(one, other) or _own_word(other, one))


def _verb(document: ApiDocument) -> str:
    return next(iter(_WORD.findall(split_identifier(document.api).lower())), "")


def _own_word(one: ApiDocument, other: ApiDocument) -> bool:
    own = _roots(split_identifier(one.api)) - _roots(split_identifier(other.api))
    return bool(own & _roots(one.description) - _roots(other.description))


def _roots(text: str) -> set[str]:
    """The first five letters of every word, so that `creates` equals `created`."""
    return {word[:_ROOT] for word in _WORD.findall(text.lower())}


def say_the_same(words: Cosines, meaning: Cosines) -> NDArray[np.bool_]:
    """Whether cosines of weighted words and of vectors mean near-duplicates; arrays of one shape.

    The bounds were chosen on copies planted into ToolBench's catalog.
    """
    words, meaning = np.asarray(words), np.asarray(meaning)
    return ((words > WORDS) & (words + meaning > BOTH)) | (meaning > ALIKE)


def word_vectors(documents: Sequence[ApiDocument]) -> NDArray[np.float32]:
    """Unit vectors of weighted words, float32 (n, 4096); zero where there is no word."""
    counted = [_words(document) for document in documents]
    spread = Counter(word for counts in counted for word in counts)
    rows = np.zeros((len(documents), _BUCKETS), dtype=np.float32)
    for row, counts in zip(rows, counted, strict=True):
        for word, count in counts.items():
            digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            weight = (1 + math.log(count)) * math.log((len(documents) + 1) / spread[word])
            row[digest % _BUCKETS] += weight if digest >> 31 else -weight
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def _words(document: ApiDocument) -> Counter[str]:
    """Words of the name and the description. The name counts twice, which matters for short descriptions."""
    name = split_identifier(document.api)
    names = " ".join(split_identifier(parameter.name) for parameter in document.parameters)
    text = f"{name} {name} {plain(document.description, 600)} {names}"
    return Counter(_WORD.findall(text.lower()))
