"""NNN decoding over an index that can only be searched: column generation by nearest neighbours.

The next columns are the nearest neighbours of the residual, because they are what violates most. *Exactness*:
a search that is exact returns the k rows of largest d_jᵀr of all. When none of them is new and violates, no
row anywhere does, and the answer is optimal over the whole index. A search that is approximate proves this
of the rows that it can find. What it misses is at most as wrong as the certificate's gap would say of it, so
the answer stays optimal over everything that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.active_set import solve_active_set
from kitpick_rescorers.nnn.corpus import Float32, Float64, InvalidProblem
from kitpick_rescorers.nnn.hybrid import Hybrid, Lexicon
from kitpick_rescorers.nnn.problem import NnnProblem, Solution

NearestVectors = Callable[[Float32, int], Sequence[tuple[Hashable, NDArray[np.floating]]]]
"""The k rows of largest inner product with a vector (d,), as (key, vector)."""


_MISSED = 0.5
"""A word is searched for where so large a share of it is left."""


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """The optimum over the columns that were found, and whether further search would change it."""

    keys: tuple[Hashable, ...]
    """Keys of every column found, in order of appearance: the rows of `solution`."""
    solution: Solution
    rounds: int
    """Rounds of searches that were made."""
    complete: bool
    """The last search returned nothing new that violates: optimal over all that the search can find."""

    @property
    def support(self) -> tuple[Hashable, ...]:
        """Keys of the chosen columns, largest coefficient first."""
        order = np.argsort(-self.solution.coefficients, kind="stable")
        return tuple(self.keys[row] for row in self.solution.support[order])


@dataclass(frozen=True)
class ColumnSearch:
    """Settings of column generation."""

    neighbours: int = 64
    """New rows to look for in one search, > 0: as many more are asked for as are chosen already, since these
    are the nearest themselves."""
    directions: int = 1
    """Searches a round. The first is around the residual r, the others around r + z_i d_i of the columns with
    the largest coefficients: what could take their place."""
    max_rounds: int = 3
    """Rounds of searches at most, the one around the query included."""
    tolerance: float = 1e-6
    """Largest violation that counts as none."""


def solve_by_columns(
    search: NearestVectors, query: NDArray[np.floating], l1: float, l2: float, how: ColumnSearch | None = None
) -> ColumnSolution:
    """Searches around the query, then around the residual, until a search finds nothing new.

    Args:
        search: The index. It may return fewer rows than asked for, and rows that were returned before.
        query: Vector (d,).
        l1: Penalty ≥ 0 of every row.
        l2: Ridge penalty ≥ 0.
        how: How it searches.

    Raises:
        InvalidProblem: nothing was found, or vectors or penalties that define no problem.
    """
    how = how or ColumnSearch()
    seen = _Seen(np.asarray(query, dtype=np.float64))
    if not seen.add(search(seen.query.astype(np.float32), how.neighbours)):
        raise InvalidProblem("search", "found nothing near the query")
    solution = solve_active_set(NnnProblem(seen.matrix, seen.query, l1, l2), tolerance=how.tolerance)
    done, complete = 1, False
    while done < how.max_rounds and not complete:
        before, wanted = len(seen.keys), how.neighbours + len(solution.support)
        for direction in _directions(seen, solution, how.directions):
            seen.add(search(direction.astype(np.float32), wanted))
        new = seen.matrix[before:].astype(np.float64)
        complete = not (new @ solution.residual > l1 + how.tolerance).any()
        problem = NnnProblem(seen.matrix, seen.query, l1, l2)
        solution = solve_active_set(problem, tolerance=how.tolerance, warm_start=solution)
        done += 1
    return ColumnSolution(tuple(seen.keys), solution, done, complete)


class _Seen:
    """The columns that searches have found, each once."""

    def __init__(self, query: Float64) -> None:
        self.query = query
        self.keys: dict[Hashable, int] = {}
        self.matrix: Float32 = np.empty((0, len(query)), dtype=np.float32)

    def add(self, found: Iterable[tuple[Hashable, NDArray[np.floating]]]) -> int:
        """Adds new columns and returns their number."""
        new = {key: vector for key, vector in found if key not in self.keys}
        for key, vector in new.items():
            if vector.shape != self.query.shape:
                raise InvalidProblem("search", f"found {vector.shape} at {key!r}, not {self.query.shape}")
        if new:
            self.keys |= {key: len(self.keys) + place for place, key in enumerate(new)}
            rows = np.stack(list(new.values())).astype(np.float32)
            self.matrix = np.concatenate([self.matrix, rows])
        return len(new)


def _directions(seen: _Seen, solution: Solution, count: int) -> list[Float64]:
    largest = np.argsort(-solution.coefficients, kind="stable")[: max(0, count - 1)]
    replaced = [
        solution.residual + solution.coefficients[place] * seen.matrix[solution.support[place]]
        for place in largest
    ]
    return [solution.residual, *replaced]


class Document(NamedTuple):
    """A document that a search returns."""

    key: Hashable
    vector: NDArray[np.floating]
    text: str


class DocumentIndex(Protocol):
    """An index that can be searched by vectors and by words."""

    def neighbours(self, vector: Float32, k: int) -> Sequence[Document]:
        """The k documents of largest inner product with a vector (d,)."""

    def matching(self, words: Sequence[str], k: int) -> Sequence[Document]:
        """The k best documents for these words, the most wanted first."""


@dataclass(frozen=True)
class HybridSearch:
    """The penalties of the problem, and the settings of the search."""

    l1: float
    l2: float
    dense_share: float = 0.5
    neighbours: int = 64
    """New documents to look for in one search by either way, > 0."""
    max_rounds: int = 3
    """The one around the whole query included."""


class HybridSolution(NamedTuple):
    """The optimum over the documents that were found."""

    documents: Sequence[Document]
    """The documents in order of appearance: the rows of `solution`."""
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
    index: DocumentIndex, text: str, query: NDArray[np.floating], how: HybridSearch
) -> HybridSolution:
    """Searches by the query, then by its residual in vectors and words, until nothing new is found.

    Raises:
        InvalidProblem: nothing was found, or vectors or penalties that define no problem.
    """
    seen: dict[Hashable, Document] = {}
    words = Lexicon.of([], text).words
    _look(index, seen, np.asarray(query, dtype=np.float64), words, how.neighbours)
    if not seen:
        raise InvalidProblem("index", "found nothing near the query")
    answer = _solved(list(seen.values()), text, query, how)
    for _ in range(1, how.max_rounds):
        before, residual = len(seen), answer.solution.residual
        left = answer.rows.words_left(residual)
        words = tuple(word for word, share in left.items() if share >= _MISSED)
        wanted = how.neighbours + len(answer.solution.support)
        _look(index, seen, answer.rows.direction_left(residual), words, wanted)
        if len(seen) == before:
            return answer._replace(complete=True)
        answer = _solved(list(seen.values()), text, query, how)
    return answer


def _look(
    index: DocumentIndex,
    seen: dict[Hashable, Document],
    direction: Float64,
    words: Sequence[str],
    wanted: int,
) -> None:
    """Adds the results of both searches."""
    for document in (*index.neighbours(direction.astype(np.float32), wanted), *index.matching(words, wanted)):
        seen.setdefault(document.key, document)


def _solved(
    documents: Sequence[Document], text: str, query: NDArray[np.floating], how: HybridSearch
) -> HybridSolution:
    lexicon = Lexicon.of([document.text for document in documents], text)
    vectors = np.stack([document.vector for document in documents])
    rows = Hybrid.of(vectors, query, lexicon, how.dense_share)
    solution = solve_active_set(NnnProblem(rows.rows, rows.query, how.l1, how.l2))
    return HybridSolution(documents, rows, solution, complete=False)
