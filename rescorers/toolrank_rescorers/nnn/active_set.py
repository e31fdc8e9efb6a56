"""Exact NNN decoding by an active set: a small working set, in a pool of likely rows, in the corpus."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.audit import Audit, Suspects, conclude
from toolrank_rescorers.nnn.corpus import Float32, Rows
from toolrank_rescorers.nnn.pooling import Pooled
from toolrank_rescorers.nnn.problem import Problem, Solution
from toolrank_rescorers.nnn.selecting import largest

POOL_ROWS = 256
"""A corpus of so few rows is looked at as a whole every time."""
_FIRST_ROWS = 48
"""The working set is chosen so small because few rows beyond the support are ever looked at."""
_MORE_ROWS = 64
"""Rows of the corpus that join the pool in one round at most."""


def solve_active_set(
    problem: Problem,
    *,
    tolerance: float = 1e-6,
    warm_start: Solution | None = None,
    max_rounds: int = 10_000,
) -> Solution:
    """Solves to the optimum over the whole corpus, and proves it, in one to three scans.

    The best rows by one scan form a pool, the best of the pool the working set. It is solved by an active-set
    method (Lawson & Hanson, Solving Least Squares Problems, 1974, ch. 23, several violators a round) in
    float64. Then the rows of the pool that the residual violates join it, until there are none, and then
    those of the whole corpus, found by `Audit`. With `Corpus.with_codes` these scans are of eight bits.

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
    pooled = first_pool(problem, _scores(problem, audit), warm_start)
    rounds = 0
    while True:
        rounds += pooled.settle(tolerance, max_rounds - rounds)
        suspects = audit.suspects(pooled.residual, pooled.rows)
        violators = worst(problem, suspects, tolerance)
        if not len(violators) or rounds >= max_rounds:
            break
        pooled.widen(violators)
        rounds += 1
    return conclude(problem, pooled.evidence(suspects), tolerance=tolerance, rounds=rounds)


def first_pool(problem: Problem, correlations: Float32, warm_start: Solution | None = None) -> Pooled:
    """The rows of largest d_jᵀq − l1 by some estimate of the correlations (n,); all of a small corpus."""
    scores = correlations - np.asarray(problem.l1, dtype=np.float32)
    if warm_start is not None:
        scores[warm_start.support] = np.inf
    wanted = _FIRST_ROWS if warm_start is None else max(_FIRST_ROWS, len(warm_start.support))
    rows = largest(scores, max(POOL_ROWS, wanted))
    pooled = pool_of(problem, rows, scores[rows], wanted)
    if warm_start is not None:
        pooled.start_from(warm_start.support, warm_start.coefficients)
    return pooled


def pool_of(problem: Problem, rows: Rows, scores: Float32, wanted: int = _FIRST_ROWS) -> Pooled:
    """These rows (m,), of which those with the largest scores (m,) are looked at first."""
    return Pooled(problem, rows, largest(scores, wanted))


def _scores(problem: Problem, audit: Audit) -> Float32:
    corpus = problem.corpus
    if corpus.codes and corpus.rows > POOL_ROWS:
        return corpus.codes.scan(problem.query).correlations
    if corpus.sketch:
        return corpus.sketch.scan(problem.query)
    return corpus.scan(problem.query) if corpus.rows <= POOL_ROWS else audit.scan(problem.query)


def worst(problem: Problem, suspects: Suspects, tolerance: float) -> Rows:
    """The rows that violate most, worst first."""
    excess = suspects.correlations - problem.penalties(suspects.rows)
    violators = np.flatnonzero(excess > tolerance)
    if len(violators) > _MORE_ROWS:
        violators = violators[np.argsort(-excess[violators], kind="stable")[:_MORE_ROWS]]
    return suspects.rows[violators]
