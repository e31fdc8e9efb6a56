"""NNN decoding by accelerated proximal gradient steps: what the paper does, for comparison."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from kitpick_rescorers.nnn.active_set import Audit, Evidence, conclude
from kitpick_rescorers.nnn.corpus import Corpus, Float32, Float64
from kitpick_rescorers.nnn.problem import NnnProblem, Solution

_CHECK_EVERY = 10


def solve_fista(
    problem: NnnProblem,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 100_000,
    restart: bool = True,
    fixed_steps: int | None = None,
) -> Solution:
    """Solves by FISTA (Eq. 5 of the NNN paper; Beck & Teboulle, 2009), two passes over the corpus a step.

    z ← max(0, y − (∇f(y) + l1) / L), f the smooth part, L = λ_max(D Dᵀ) + l2, with Nesterov's momentum.
    Products are taken in float32, the certificate in float64.

    Args:
        problem: What to solve.
        tolerance: Stop when the largest violation, looked at every ten steps, is below this.
        max_iterations: Stop then at the latest; the certificate says how far it came.
        restart: Forget the momentum when it points uphill (the gradient scheme of O'Donoghue & Candès, 2015).
        fixed_steps: Take exactly this many steps and never look, as the paper does.
    """
    steps = max_iterations if fixed_steps is None else fixed_steps
    step_size = 1.0 / max(lipschitz(problem.corpus) + problem.l2, np.finfo(np.float64).tiny)
    z = y = np.zeros(problem.corpus.rows)
    momentum, done = 1.0, 0
    while done < steps:
        following = np.maximum(0.0, y + step_size * (_excess(problem, y)))
        if restart and (y - following) @ (following - z) > 0:
            momentum = 1.0
        y, momentum = _extrapolated(z, following, momentum)
        z, done = following, done + 1
        if fixed_steps is None and done % _CHECK_EVERY == 0 and _largest_violation(problem, z) <= tolerance:
            break
    return conclude(problem, _evidence(problem, z), tolerance=tolerance, rounds=done)


@lru_cache(maxsize=8)
def lipschitz(corpus: Corpus) -> float:
    """λ_max(D Dᵀ), the curvature of the reconstruction term; computed when it is first asked for."""
    documents = corpus.documents.astype(np.float64)
    gram = documents @ documents.T if corpus.rows < corpus.dimensions else documents.T @ documents
    return float(np.linalg.eigvalsh(gram)[-1])


def _extrapolated(z: Float64, following: Float64, momentum: float) -> tuple[Float64, float]:
    """Nesterov's point beyond the step from z, and the momentum after it."""
    later = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
    return following + ((momentum - 1.0) / later) * (following - z), later


def _evidence(problem: NnnProblem, z: Float64) -> Evidence:
    support = np.flatnonzero(z)
    vectors = problem.corpus.exact_rows(support)
    residual = problem.query - z[support] @ vectors
    suspects = Audit(problem).suspects(residual, support)
    return Evidence(
        rows=np.append(support, suspects.rows),
        weights=np.append(z[support], np.zeros(len(suspects.rows))),
        correlations=np.append(vectors @ residual, suspects.correlations),
        residual=residual,
        checked=suspects.checked,
    )


def _excess(problem: NnnProblem, z: Float64) -> Float64:
    """−∇P(z) = D(q − Dᵀz) − l1 − l2 z (n,)."""
    reconstruction: Float32 = z.astype(np.float32) @ problem.corpus.documents
    return problem.corpus.scan(problem.query - reconstruction) - problem.l1 - problem.l2 * z


def _largest_violation(problem: NnnProblem, z: Float64) -> float:
    excess = _excess(problem, z)
    return float(np.where(z > 0, np.abs(excess), excess).max(initial=0.0))
