"""What people say for what a tool says: "bill" for `invoice`, "get rid of" for `delete`.

A statistical translation model of words (model 1 of Brown et al., "The mathematics of statistical machine
translation", 1993), used for search as by Berger and Lafferty ("Information retrieval as statistical
translation", SIGIR 1999): each word of a request comes from a word of the text that serves it. The table was
learned from our own written requests by `kitpick_training.associations`, and holds stems alone.

Neither an encoder nor words have that knowledge: vectors mix all words of a text, and BM25 counts equal ones.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from math import fsum, log1p

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.features import text_stems
from kitpick_rescorers.state import Matrix, Ranked

FILE = "associations.txt.gz"
_REMEMBERED = 4_096
"""Words whose associations are kept parsed, and texts whose weights are."""
_TEN = 10.0


class Associations:
    """For each word of texts its weight, and how much more often people say a word of it than of others.

    Args:
        lines: each `word weight said ratio said ratio …`, all by their stems.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        split = (line.partition(" ") for line in lines)
        self._rows = {word: row for word, _, row in split}
        self._heaviest = max((float(row.partition(" ")[0]) for row in self._rows.values()), default=1.0)
        self._row = lru_cache(_REMEMBERED)(self._parsed)
        self._weight = lru_cache(_REMEMBERED)(self._weighed)

    def likelihoods(self, asked: frozenset[str], texts: Sequence[frozenset[str]]) -> NDArray[np.float64]:
        """How likely such texts are asked for by such words: float64 (n,), 0 where nothing is known of it.

        The mean over the request's words of ln(1 + r), where r is how much more often a word is said of a
        text than of any other: the mean of what its words bring, by their weights. A word of a text that the
        table does not know is as heavy as the rarest.

        Args:
            asked: stems of the request.
            texts: stems of each text.
        """
        if not asked:
            return np.zeros(len(texts))
        words = set(chain.from_iterable(texts))
        rows = ((word, *self._row(word)) for word in words)
        brings = {
            word: {each: weight * said[each] for each in said.keys() & asked}
            for word, weight, said in rows
            if not said.keys().isdisjoint(asked)
        }
        return np.array([self._likelihood(text, brings) for text in texts]) / len(asked)

    def _likelihood(self, text: frozenset[str], brings: Mapping[str, Mapping[str, float]]) -> float:
        brought: dict[str, float] = {}
        for word in sorted(text & brings.keys()):  # in one order, whatever a sum of floats makes of others
            for each, value in brings[word].items():
                brought[each] = brought.get(each, 0.0) + value
        whole = self._weight(text)
        return fsum(log1p(value / whole) for value in brought.values() if value)

    def _weighed(self, text: frozenset[str]) -> float:
        return fsum(self._row(word)[0] for word in text) or 1.0

    def _parsed(self, word: str) -> _Row:
        row = self._rows.get(word)
        if row is None:
            return self._heaviest, {}
        weight, *rest = row.split()
        return float(weight), dict(zip(rest[::2], map(float, rest[1::2]), strict=True))


_Row = tuple[float, Mapping[str, float]]
"""The weight of a word of texts; and words of requests with their ratios."""


@cache
def shipped_associations() -> Associations:
    """The table that comes with kitpick."""
    return Associations(_lines((resources.files(__package__) / FILE).read_bytes()))


def associations_of(asked: frozenset[str], items: Sequence[Ranked]) -> Matrix:
    """How likely each candidate's text is asked for by the request's stems, by the shipped table: (n,)."""
    return shipped_associations().likelihoods(asked, [text_stems(item.candidate.text) for item in items])


def _lines(packed: bytes) -> Iterator[str]:
    yield from gzip.decompress(packed).decode("utf-8").splitlines()


def packed(rows: Mapping[str, tuple[float, Mapping[str, float]]]) -> bytes:
    """A table as it is kept in a file: the same rows give the same bytes. Of a number two digits are kept."""
    lines = (" ".join((word, _short(weight), *_pairs(said))) for word, (weight, said) in sorted(rows.items()))
    return gzip.compress("\n".join(lines).encode("utf-8"), mtime=0)


def _pairs(said: Mapping[str, float]) -> Iterator[str]:
    for word, ratio in sorted(said.items()):
        if (short := _short(ratio)) != "0.0":
            yield f"{word} {short}"


def _short(number: float) -> str:
    rounded = round(number, 1)
    return f"{rounded:.0f}" if rounded >= _TEN else f"{rounded:.1f}"
