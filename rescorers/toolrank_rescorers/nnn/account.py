"""An answer in terms that a person can check: who explains what, who gave way to whom, and what is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.problem import Problem, Solution

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Account:
    """What `account` finds, by row of the corpus (n,)."""

    shares: Float64
    """z_i d_iᵀq / ‖q‖²: how much of the query a row explains; they add up to 1 − qᵀr / ‖q‖²."""
    shortfalls: Float64
    """l1_i − d_iᵀr: how far a row is from being chosen; not above 0 in the support."""
    gave_way_to: Rows
    """The chosen row that took most from a row which would have been chosen by itself; −1 for others."""
    cosines: Float64
    """Cosine with that row; 0 where there is none."""

    @property
    def next_in_line(self) -> Rows:
        """Rows beyond the support by how near they came to being chosen: nearest to what is left."""
        order = np.argsort(self.shortfalls, kind="stable")
        beyond: Rows = order[self.shares[order] == 0.0]
        return beyond


def account(problem: Problem, solution: Solution) -> Account:
    """Explains a solution. Costs two products with the corpus: for candidates, not for catalogs.

    Row i of the support takes z_i d_iᵀd_j from what row j would otherwise correlate with the query.
    """
    rows = problem.corpus.documents.astype(np.float64)
    chosen = rows[solution.support]
    alone = rows @ problem.query
    energy = float(problem.query @ problem.query) or 1.0
    shares = np.zeros(len(rows))
    shares[solution.support] = solution.coefficients * alone[solution.support] / energy
    penalties = np.broadcast_to(problem.l1, len(rows))
    suppressed = alone > penalties
    suppressed[solution.support] = False
    gave_way_to, cosines = _rivals(rows, chosen, solution, suppressed)
    return Account(shares, penalties - rows @ solution.residual, gave_way_to, cosines)


def _rivals(
    rows: Float64, chosen: Float64, solution: Solution, suppressed: NDArray[np.bool_]
) -> tuple[Rows, Float64]:
    rivals, cosines = np.full(len(rows), NOBODY), np.zeros(len(rows))
    places = np.flatnonzero(suppressed)
    if len(places) and len(chosen):
        products = rows[places] @ chosen.T
        strongest = (products * solution.coefficients).argmax(axis=1)
        lengths = np.linalg.norm(rows[places], axis=1) * np.linalg.norm(chosen, axis=1)[strongest]
        rivals[places] = solution.support[strongest]
        cosines[places] = products[np.arange(len(places)), strongest] / np.where(lengths > 0, lengths, 1.0)
    return rivals, cosines
