"""Many queries against one corpus: scans become matrix products, which read the corpus once for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.active_set import POOL_ROWS, PoolSolver, Suspects, beyond, conclude, pool_of, worst
from kitpick_rescorers.nnn.corpus import Corpus, InvalidProblem
from kitpick_rescorers.nnn.kernels import exact_scan, scan_rows
from kitpick_rescorers.nnn.problem import NnnProblem, Solution
from nnn.scans import Near, Scans, scans_of
from nnn.spreading import spread

_MAX_ROUNDS = 10_000
"""Of each query."""
_MARGIN = 0.02
"""Rows so close below their penalty, as a share of the longest row, are kept from the common scan: it stays
valid while the residual moves by less."""


def solve_batch(
    corpus: Corpus,
    queries: NDArray[np.floating],
    l1: float,
    l2: float,
    *,
    tolerance: float = 1e-6,
    scans: Scans | None = None,
) -> list[Solution]:
    """Solves for every query as `solve_active_set` does, with the same certificates, in two products.

    The first chooses the pools; the second holds every residual against
    the corpus. Those queries whose residual then moves further than `_MARGIN` share a further one.

    Args:
        corpus: The documents.
        queries: Vectors (b, d); memory beyond the corpus is b · n floats for the first product.
        l1: Penalty ≥ 0 of every row.
        l2: Ridge penalty ≥ 0.
        tolerance: Largest violation that counts as none, > 0.
        scans: Where the products are taken; in numpy, or in eight bits for a corpus with codes, if None.

    Raises:
        InvalidProblem: wrong shapes, values that are not finite, or penalties out of range.
    """
    if not isinstance(l1, int | float):
        raise InvalidProblem("l1", f"a batch takes one number for all rows, got {type(l1).__name__}")
    problems = [NnnProblem(corpus, query, l1, l2) for query in queries]
    if not problems:
        return []
    scans, floor = scans or scans_of(corpus), l1 - _MARGIN * corpus.largest_norm
    best = scans.best(np.stack([problem.query for problem in problems]), POOL_ROWS)
    solving = spread(
        lambda found: _One(found[0], pool_of(found[0], *found[1]), tolerance),
        zip(problems, best, strict=True),
    )
    while unfinished := [one for one in solving if one.solution is None]:
        near = scans.above(np.stack([one.pooled.residual for one in unfinished]), floor)
        spread(lambda pair: pair[0].proceed(pair[1]), zip(unfinished, near, strict=True))
    return [one.solution for one in solving if one.solution is not None]


class _One:
    """One query of the batch, between the common products."""

    def __init__(self, problem: NnnProblem, pooled: PoolSolver, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self.pooled = pooled
        self._l1 = float(problem.l1)
        self.solution: Solution | None = None
        self._rounds = self.pooled.settle(tolerance, _MAX_ROUNDS)

    def proceed(self, near: Near) -> None:
        """Takes in what a product found near its residual, until it is solved or has moved too far."""
        scanned = self.pooled.residual
        while (moved := float(np.linalg.norm(self.pooled.residual - scanned))) <= _MARGIN:
            suspects = self._suspects(near, moved)
            violators = worst(self._problem, suspects, self._tolerance)
            if not len(violators) or self._rounds >= _MAX_ROUNDS:
                evidence = self.pooled.evidence(suspects)
                self.solution = conclude(
                    self._problem, evidence, tolerance=self._tolerance, rounds=self._rounds
                )
                return
            self.pooled.widen(violators)
            self._rounds += 1 + self.pooled.settle(self._tolerance, _MAX_ROUNDS - self._rounds)

    def _suspects(self, near: Near, moved: float) -> Suspects:
        """Of the rows near the residual that was scanned, those that may violate at the present one."""
        corpus, residual, known = self._problem.corpus, self.pooled.residual, self.pooled.rows
        least = self._l1 - near.error - moved * corpus.largest_norm
        rows = beyond(near.rows[near.correlations > least], known)
        correlations = scan_rows(corpus.documents, rows, residual.astype(np.float32))
        above = rows[correlations > self._l1 - corpus.scan_error(residual)]
        return Suspects(above, exact_scan(corpus.documents, above, residual), len(known) + len(rows))
