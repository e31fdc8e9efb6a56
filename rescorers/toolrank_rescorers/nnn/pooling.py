"""A pool of corpus rows that the exact solver has looked at, solved as if there were no others."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.audit import Evidence, Suspects
from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.pivoting import DEPENDENT, enter
from toolrank_rescorers.nnn.problem import Problem
from toolrank_rescorers.nnn.settling import Pool, Settled, settle, started


class Pooled:
    """The best answer over the pool, and what proves it there.

    Args:
        problem: The problem over the whole corpus.
        rows: The pool (m,), distinct.
        first: Places in the pool (w,) of those that are looked at first.
    """

    def __init__(self, problem: Problem, rows: Rows, first: Rows) -> None:
        self._problem = problem
        corpus = problem.corpus
        held = np.zeros(len(rows), dtype=np.bool_)
        self._pool = Pool(
            corpus.documents, rows, problem.penalties(rows), held, corpus.roundoff, problem.query
        )
        state = started(self._pool, first, problem.l2)
        self._now = Settled(state, 0, first, np.empty(0), problem.query, 0)
        self._settled = 0

    @property
    def rows(self) -> Rows:
        """All rows of the pool (m,)."""
        return self._pool.rows

    @property
    def residual(self) -> Float64:
        """Residual q − Dᵀz (d,)."""
        return self._now.residual

    def start_from(self, rows: Rows, weights: Float64) -> None:
        """Takes over weights > 0 of rows that are looked at first; dependent ones are left out."""
        state, k = self._now.state, 0
        held = self._pool.rows[self._now.places]
        positions = {row: position for position, row in enumerate(held.tolist())}
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            grown = enter(state, k, positions[row], DEPENDENT)
            if grown > k:
                state.z[k] = weight
                k = grown
        self._now = self._now._replace(k=k)

    def settle(self, tolerance: float, max_rounds: int) -> int:
        """Solves over the pool from where it stands; returns the rounds taken, 0 where nothing is new."""
        now = self._now
        if self._settled == len(self.rows):
            return 0
        held = now.places[: len(now.state.linear)]
        self._now = settle(now.state, now.k, held, self._pool, tolerance, max_rounds)
        self._settled = len(self.rows)
        return self._now.rounds

    def widen(self, rows: Rows) -> None:
        """Adds corpus rows that are not in it yet; weights stay as they are."""
        pool = self._pool
        self._pool = pool._replace(
            rows=np.append(pool.rows, rows),
            penalties=np.append(pool.penalties, self._problem.penalties(rows)),
            held=np.append(pool.held, np.zeros(len(rows), dtype=np.bool_)),
        )

    def evidence(self, suspects: Suspects) -> Evidence:
        """What is known of its rows, and of the suspects beyond, at its residual."""
        now = self._now
        weights = np.zeros(len(now.places) + len(suspects.rows))
        weights[now.state.active[: now.k]] = now.state.z[: now.k]
        rows = np.append(self._pool.rows[now.places], suspects.rows)
        correlations = np.append(now.correlations, suspects.correlations)
        return Evidence(rows, weights, correlations, now.residual, suspects.checked)
