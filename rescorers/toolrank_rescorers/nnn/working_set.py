"""A few rows of the corpus, with what the solvers keep of them."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.pivoting import extended, opened
from toolrank_rescorers.nnn.problem import Problem


class WorkingSet:
    """Rows of the corpus and the state that a solver works on.

    Args:
        problem: The problem over the whole corpus.
        rows: The first rows (w,), distinct.
    """

    def __init__(self, problem: Problem, rows: Rows) -> None:
        self._problem = problem
        self.rows = rows
        self.holds = np.zeros(problem.corpus.rows, dtype=bool)
        self.holds[rows] = True
        self.state = opened(*self._vectors_and_linear(rows), problem.l2)

    @property
    def vectors(self) -> Float64:
        """Its rows (w, d) in float64."""
        return self.state.vectors

    def extend(self, rows: Rows) -> None:
        """Adds corpus rows that are not in it yet."""
        self.state = extended(self.state, 0, *self._vectors_and_linear(rows))
        self.rows = np.append(self.rows, rows)
        self.holds[rows] = True

    def _vectors_and_linear(self, rows: Rows) -> tuple[Float64, Float64]:
        vectors = self._problem.corpus.exact_rows(rows)
        return vectors, vectors @ self._problem.query - self._problem.penalties(rows)
