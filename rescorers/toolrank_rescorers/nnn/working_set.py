"""The problem restricted to a few rows, solved to working precision on their Gram matrix."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.factor import InverseFactor
from toolrank_rescorers.nnn.problem import Problem

_DEPENDENT = 1e-10
"""A row is taken as dependent on the support when less than this share of it is left unexplained."""
_ENTERING = 4
"""Violators added in one round."""


class WorkingSet:
    """Rows W of the corpus, of which `active` (positions in W, in order of entering) carry weights z > 0.

    Only what the active rows need is computed: the Gram rows of the active against all of W.
    """

    def __init__(self, problem: Problem, rows: Rows) -> None:
        self._problem = problem
        self.rows = rows
        self._vectors = problem.corpus.exact_rows(rows)
        self._linear = self._vectors @ problem.query - problem.penalties(rows)
        self._gram = np.empty((32, len(rows)))
        self._factor = InverseFactor()
        self._active: list[int] = []
        self._z = np.zeros(0)
        self._refused: set[int] = set()

    # -- what it holds

    @property
    def support(self) -> Rows:
        """Corpus rows of the active set (k,), in order of entering."""
        return self.rows[self._active]

    @property
    def coefficients(self) -> Float64:
        """Weights of the active rows (k,), all positive."""
        return self._z

    def residual(self) -> Float64:
        """Residual q − Dᵀz (d,)."""
        return self._problem.query - self._z @ self._vectors[self._active]

    # -- how it grows

    def extend(self, rows: Rows) -> None:
        """Adds corpus rows that are not in it yet."""
        vectors = self._problem.corpus.exact_rows(rows)
        gram = np.empty((len(self._gram), len(self.rows) + len(rows)))
        k = len(self._active)
        gram[:k, : len(self.rows)] = self._gram[:k]
        gram[:k, len(self.rows) :] = self._vectors[self._active] @ vectors.T
        self._gram = gram
        self.rows = np.concatenate([self.rows, rows])
        self._vectors = np.concatenate([self._vectors, vectors])
        linear = vectors @ self._problem.query - self._problem.penalties(rows)
        self._linear = np.concatenate([self._linear, linear])

    def start_from(self, rows: Rows, coefficients: Float64) -> None:
        """Takes over weights ≥ 0 of rows in W as the first guess."""
        positions = np.flatnonzero(np.isin(self.rows, rows))
        weights = dict(zip(rows.tolist(), coefficients.tolist(), strict=True))
        for position in positions.tolist():
            weight = weights[int(self.rows[position])]
            if weight > 0 and self._insert(position):
                self._z[-1] = weight
        self._descend()

    # -- how it is solved

    def minimise(self, tolerance: float, max_rounds: int) -> int:
        """Adds violators and drops what turns negative until none is above the tolerance.

        Returns:
            Rounds taken; at most `max_rounds`, in which case violators remain.
        """
        for done in range(max_rounds):
            excess = self._excess()
            entering = self._violators(excess, tolerance)
            if not entering:
                return done
            before = self._active.copy()
            self._enter(entering)
            self._descend()
            self._refused = set(entering) if self._active == before else set()
        return max_rounds

    def _excess(self) -> Float64:
        """d_jᵀr − l1_j of W; −∞ for the active rows, whose condition holds by construction."""
        excess = self._linear - self._z @ self._gram[: len(self._active)]
        excess[self._active] = -np.inf
        return excess

    def _violators(self, excess: Float64, tolerance: float) -> list[int]:
        """The few largest violators; ties in order of the corpus."""
        above = np.flatnonzero(excess > tolerance)
        if self._refused:
            above = above[[position not in self._refused for position in above.tolist()]]
        order = np.lexsort((self.rows[above], -excess[above]))[:_ENTERING]
        return [int(position) for position in above[order]]

    def _enter(self, entering: list[int]) -> None:
        for first, position in enumerate(entering):
            if not self._insert(position) and first == 0:
                self._exchange(position)
                return

    def _insert(self, position: int, floor: float = _DEPENDENT) -> bool:
        """Makes a row active at weight 0, unless it depends on those that are."""
        k = len(self._active)
        projected = self._factor.project(self._gram[:k, position])
        vector = self._vectors[position]
        energy = float(vector @ vector) + self._problem.l2
        pivot = energy - float(projected @ projected)
        if pivot <= floor * energy:
            return False
        if k == len(self._gram):
            self._gram = np.concatenate([self._gram, np.empty_like(self._gram)])
        np.dot(self._vectors, vector, out=self._gram[k])
        self._factor.insert(projected, pivot)
        self._active.append(position)
        self._z = np.append(self._z, 0.0)
        return True

    def _exchange(self, position: int) -> None:
        """Trades a dependent row d_j = Σ u_i d_i for active ones, so that the reconstruction stands still.

        The objective falls at the rate of the row's excess until the first z_i reaches 0. Without such an i
        the row cannot be told apart from what is active, and stays out; the certificate then shows what it
        violates.
        """
        column = self._gram[: len(self._active), position]
        direction = self._factor.solve(column)
        falling = direction > 0
        if not falling.any():
            return
        ratios = np.where(falling, self._z / np.where(falling, direction, 1.0), np.inf)
        step = float(ratios.min())
        self._z = self._z - step * direction
        self._drop(ratios <= step)
        if self._insert(position, floor=1e-15):
            self._z[-1] = step

    def _descend(self) -> None:
        """Moves to the minimiser over the active rows, stopping to drop what would turn negative."""
        while self._active:
            right = self._linear[self._active]
            target = self._refined(self._factor.solve(right), right)
            leaving = target <= 0
            if not leaving.any():
                self._z = target
                return
            drops = self._z - target
            ratios = np.where(leaving & (drops > 0), self._z / np.where(drops > 0, drops, 1.0), np.inf)
            step = min(1.0, float(ratios.min()))
            self._z = self._z + step * (target - self._z)
            self._drop(leaving & (ratios <= step) | leaving & (self._z <= 0))

    def _refined(self, target: Float64, right: Float64) -> Float64:
        """One step of iterative refinement against the Gram matrix itself."""
        k = len(self._active)
        product = self._gram[:k, self._active] @ target + self._problem.l2 * target
        return target + self._factor.solve(right - product)

    def _drop(self, leaving: np.ndarray) -> None:
        for place in np.flatnonzero(leaving)[::-1].tolist():
            k = len(self._active)
            self._factor.delete(place)
            self._gram[place : k - 1] = self._gram[place + 1 : k].copy()
            del self._active[place]
        self._z = self._z[~leaving]
