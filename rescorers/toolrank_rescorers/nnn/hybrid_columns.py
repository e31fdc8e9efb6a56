"""Column generation for hybrid rows: next come neighbours of what is left, and what has the words that are.

The rarity of a word is judged among what was seen, so a round that brings something new changes the problem a
little; the answer is optimal over what was seen at the end, and no statement goes beyond that.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.active_set import solve_active_set
from toolrank_rescorers.nnn.corpus import Float32, Float64
from toolrank_rescorers.nnn.errors import InvalidProblem
from toolrank_rescorers.nnn.hybrid import Hybrid, Lexicon
from toolrank_rescorers.nnn.problem import Problem, Solution

_MISSED = 0.5
"""A word is searched for where so large a share of it is left."""


class Document(NamedTuple):
    """What a search returns."""

    key: Hashable
    vector: NDArray[np.floating]
    text: str


class Index(Protocol):
    """Searched by meaning and by words."""

    def neighbours(self, vector: Float32, k: int) -> Sequence[Document]:
        """The k documents of largest inner product with a vector (d,)."""

    def matching(self, words: Sequence[str], k: int) -> Sequence[Document]:
        """The k best documents for these words, the most wanted first."""


@dataclass(frozen=True)
class Mixture:
    """The problem, and how it is searched for."""

    l1: float
    l2: float
    dense_share: float = 0.5
    neighbours: int = 64
    """New documents to look for in one search by either way, > 0."""
    max_rounds: int = 3
    """The one around the whole query included."""


class Gathered(NamedTuple):
    """The optimum over the documents that were seen."""

    documents: Sequence[Document]
    """In order of appearance: the rows of `solution`."""
    rows: Hybrid
    solution: Solution
    complete: bool
    """The last round brought nothing new."""

    @property
    def support(self) -> list[Hashable]:
        """Keys of the chosen, largest coefficient first."""
        order = np.argsort(-self.solution.coefficients, kind="stable")
        return [self.documents[row].key for row in self.solution.support[order]]


def solve_hybrid_by_columns(
    index: Index, text: str, query: NDArray[np.floating], mixture: Mixture
) -> Gathered:
    """Searches by the query, then by what is left of its meaning and of its words, until nothing is new.

    Raises:
        InvalidProblem: nothing was found, or vectors or penalties that define no problem.
    """
    seen: dict[Hashable, Document] = {}
    words = Lexicon.of([], text).words
    _look(index, seen, np.asarray(query, dtype=np.float64), words, mixture.neighbours)
    if not seen:
        raise InvalidProblem("index", "found nothing near the query")
    answer = _solved(list(seen.values()), text, query, mixture)
    for _ in range(1, mixture.max_rounds):
        before, residual = len(seen), answer.solution.residual
        left = answer.rows.words_left(residual)
        words = tuple(word for word, share in left.items() if share >= _MISSED)
        wanted = mixture.neighbours + len(answer.solution.support)
        _look(index, seen, answer.rows.direction_left(residual), words, wanted)
        if len(seen) == before:
            return answer._replace(complete=True)
        answer = _solved(list(seen.values()), text, query, mixture)
    return answer


def _look(
    index: Index, seen: dict[Hashable, Document], direction: Float64, words: Sequence[str], wanted: int
) -> None:
    """Takes in what both searches bring."""
    for document in (*index.neighbours(direction.astype(np.float32), wanted), *index.matching(words, wanted)):
        seen.setdefault(document.key, document)


def _solved(
    documents: Sequence[Document], text: str, query: NDArray[np.floating], mixture: Mixture
) -> Gathered:
    lexicon = Lexicon.of([document.text for document in documents], text)
    vectors = np.stack([document.vector for document in documents])
    rows = Hybrid.of(vectors, query, lexicon, mixture.dense_share)
    solution = solve_active_set(Problem(rows.rows, rows.query, mixture.l1, mixture.l2))
    return Gathered(documents, rows, solution, complete=False)
