"""Exact NNN decoding by an active set over a small working set of rows."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.audit import Audit, Suspects, conclude
from toolrank_rescorers.nnn.corpus import Rows
from toolrank_rescorers.nnn.problem import Problem, Solution
from toolrank_rescorers.nnn.working_set import WorkingSet

_FIRST_ROWS = 64
_MORE_ROWS = 32
_INNER_SHARE = 1e-4
"""The working set is solved this much tighter than what the corpus is held to: it costs no further scan."""


def solve_active_set(
    problem: Problem,
    *,
    tolerance: float = 1e-6,
    warm_start: Solution | None = None,
    max_rounds: int = 10_000,
) -> Solution:
    """Solves to the optimum over the whole corpus, and proves it, in one to three scans.

    The best few rows by one scan form the working set. It is solved by an active-set method (Lawson & Hanson,
    Solving Least Squares Problems, 1974, ch. 23, several violators a round) in float64; then the rows that
    the residual violates, found by `Audit`, join it, until there are none.

    *Termination.* After every round z minimises P over its support, with z > 0 there, so P is a function of
    the support. It falls strictly: let N be the violators entering at z_N = 0. The step p towards the
    minimiser over S ∪ N is a direction of descent with gradient 0 on S and −e_N < 0 on N, hence p_j > 0 for
    some j in N. Those of N with p_j ≤ 0 are dropped at once (never all of N), after which the step has
    positive length, and P falls; every further drop continues from there without raising it. A row dependent
    on the support enters by an exchange that lowers P at rate e_j over a positive length. So no support comes
    back, and there are finitely many. Rounding can break strictness only below the tolerance; a set of
    entering rows that changes nothing is then refused in the following round, and `max_rounds` bounds
    everything.

    Args:
        problem: What to solve.
        tolerance: Largest violation of the optimality conditions that counts as none, > 0.
        warm_start: A solution of a nearby problem over the same corpus.
        max_rounds: Bound on the rounds; when it is reached the certificate says how far the answer is.

    Returns:
        A solution whose certificate is `exact`, or shows what it lacks.
    """
    audit = Audit(problem)
    working = WorkingSet(problem, _first_rows(problem, audit, warm_start))
    if warm_start is not None:
        working.start_from(warm_start.support, warm_start.coefficients)
    rounds = 0
    while True:
        rounds += working.minimise(_INNER_SHARE * tolerance, max_rounds - rounds)
        residual = working.residual()
        suspects = audit.suspects(residual, working.holds)
        violators = _worst(problem, suspects, tolerance)
        if not len(violators) or rounds >= max_rounds:
            break
        working.extend(violators)
        rounds += 1
    return conclude(problem, working.evidence(residual, suspects), tolerance=tolerance, rounds=rounds)


def _first_rows(problem: Problem, audit: Audit, warm_start: Solution | None) -> Rows:
    if problem.corpus.rows <= _FIRST_ROWS:
        return np.arange(problem.corpus.rows)
    sketch = problem.corpus.sketch
    scores = (sketch.scan(problem.query) if sketch else audit.scan(problem.query)) - problem.l1
    first = np.argpartition(scores, -_FIRST_ROWS)[-_FIRST_ROWS:]
    return first if warm_start is None else np.union1d(first, warm_start.support)


def _worst(problem: Problem, suspects: Suspects, tolerance: float) -> Rows:
    """The rows that violate most, worst first."""
    excess = suspects.correlations - problem.penalties(suspects.rows)
    violators = np.flatnonzero(excess > tolerance)
    if len(violators) > _MORE_ROWS:
        violators = violators[np.argsort(-excess[violators], kind="stable")[:_MORE_ROWS]]
    return suspects.rows[violators]
