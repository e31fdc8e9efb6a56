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

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.active_set import solve_active_set
from kitpick_rescorers.nnn.corpus import Float32, Float64, InvalidProblem
from kitpick_rescorers.nnn.problem import NnnProblem, Solution

NearestVectors = Callable[[Float32, int], Sequence[tuple[Hashable, NDArray[np.floating]]]]
"""The k rows of largest inner product with a vector (d,), as (key, vector)."""


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """The optimum over the columns that were found, and whether further search would change it."""

    keys: tuple[Hashable, ...]
    """Keys of every column found, in order of appearance: the rows of `solution`."""
    solution: Solution
    rounds: int
    """Searches that were made."""
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
    max_rounds: int = 3
    """Searches at most, the one around the query included."""
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
        seen.add(search(solution.residual.astype(np.float32), wanted))
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
