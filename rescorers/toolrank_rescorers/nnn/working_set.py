"""The problem restricted to a few rows of the corpus, solved to working precision on their Gram matrix."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.audit import Evidence, Suspects
from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.pivoting import DEPENDENT, State, enter, minimise
from toolrank_rescorers.nnn.problem import Problem


class WorkingSet:
    """Rows of the corpus, some of which carry weights z > 0: the state that `pivoting` works on.

    Args:
        problem: The problem over the whole corpus.
        rows: The first rows (w,), distinct.
    """

    def __init__(self, problem: Problem, rows: Rows) -> None:
        self._problem = problem
        self.rows = rows
        self.holds = np.zeros(problem.corpus.rows, dtype=bool)
        self.holds[rows] = True
        self.vectors = problem.corpus.exact_rows(rows)
        self._k = 0
        self.state = State(
            gram=self.vectors @ self.vectors.T,
            linear=self.vectors @ problem.query - problem.penalties(rows),
            l2=problem.l2,
            factor=np.zeros((len(rows), len(rows))),
            active=np.zeros(len(rows), dtype=np.intp),
            z=np.zeros(len(rows)),
        )

    def residual(self) -> Float64:
        """Residual q − Dᵀz (d,)."""
        return self._problem.query - self.state.z[: self._k] @ self.vectors[self.state.active[: self._k]]

    def evidence(self, residual: Float64, suspects: Suspects) -> Evidence:
        """What is known of its rows and of the suspects beyond at its residual."""
        weights = np.zeros(len(self.rows) + len(suspects.rows))
        weights[self.state.active[: self._k]] = self.state.z[: self._k]
        rows = np.append(self.rows, suspects.rows)
        correlations = np.append(self.vectors @ residual, suspects.correlations)
        checked = max(suspects.checked, len(rows))
        return Evidence(rows, weights, correlations, residual, checked)

    def start_from(self, rows: Rows, weights: Float64) -> None:
        """Takes over weights > 0 of rows that are in it, as a first guess; dependent ones are left out."""
        positions = {row: position for position, row in enumerate(self.rows.tolist())}
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            grown = enter(self.state, self._k, positions[row], DEPENDENT)
            if grown > self._k:
                self.state.z[self._k] = weight
                self._k = grown

    def minimise(self, tolerance: float, max_rounds: int) -> int:
        """Solves over these rows from where it stands; returns the rounds taken."""
        self._k, rounds = minimise(self.state, self._k, tolerance, max_rounds)
        return rounds

    def extend(self, rows: Rows) -> None:
        """Adds corpus rows that are not in it yet; weights stay as they are."""
        old, state = len(self.rows), self.state
        w = old + len(rows)
        vectors = self._problem.corpus.exact_rows(rows)
        gram, factor = np.empty((w, w)), np.zeros((w, w))
        gram[:old, :old] = state.gram
        gram[old:, :old] = vectors @ self.vectors.T
        gram[:old, old:] = gram[old:, :old].T
        gram[old:, old:] = vectors @ vectors.T
        factor[: self._k, : self._k] = state.factor[: self._k, : self._k]
        linear = vectors @ self._problem.query - self._problem.penalties(rows)
        room = np.zeros(len(rows))
        self.state = State(
            gram,
            np.append(state.linear, linear),
            state.l2,
            factor,
            np.append(state.active, room.astype(np.intp)),
            np.append(state.z, room),
        )
        self.vectors = np.concatenate([self.vectors, vectors])
        self.rows = np.append(self.rows, rows)
        self.holds[rows] = True
