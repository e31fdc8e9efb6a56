"""NNN decoding by accelerated proximal gradient steps: what the paper does, for comparison."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.active_set import Audit, Evidence, conclude
from kitpick_rescorers.nnn.corpus import Corpus, Float32, Float64, Rows
from kitpick_rescorers.nnn.problem import NnnProblem, Solution
from nnn.screening import may_be_chosen

Momentum = TypeVar("Momentum", float, Float64)

_CHECK_EVERY = 10
_SCREEN_EVERY = 50


def solve_fista(
    problem: NnnProblem,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 100_000,
    restart: bool = True,
    fixed_steps: int | None = None,
    screening: bool = False,
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
        screening: Leave rows behind that are known to be in no optimal support, whenever it halves them.
    """
    steps = max_iterations if fixed_steps is None else fixed_steps
    corpus, whole = problem.corpus, problem
    step_size = 1.0 / max(corpus.lipschitz + problem.l2, np.finfo(np.float64).tiny)
    z = y = np.zeros(corpus.rows)
    carried = np.arange(corpus.rows)
    momentum, done = 1.0, 0
    while done < steps:
        following = np.maximum(0.0, y + step_size * (_excess(problem, y)))
        if restart and (y - following) @ (following - z) > 0:
            momentum = 1.0
        y, momentum = _extrapolated(z, following, momentum)
        z, done = following, done + 1
        if fixed_steps is None and done % _CHECK_EVERY == 0 and _largest_violation(problem, z) <= tolerance:
            break
        if screening and done % _SCREEN_EVERY == 0:
            kept = np.flatnonzero(may_be_chosen(problem, z))
            if 0 < len(kept) <= len(z) // 2:
                carried, problem, z, y = carried[kept], _among(problem, kept), z[kept], y[kept]
    found = np.zeros(corpus.rows)
    found[carried] = z
    return conclude(whole, _evidence(whole, found), tolerance=tolerance, rounds=done)


def _extrapolated(z: Float64, following: Float64, momentum: Momentum) -> tuple[Float64, Momentum]:
    """Nesterov's point beyond the step from z, and the momentum after it; one problem or a batch of them."""
    later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
    return following + ((momentum - 1.0) / later) * (following - z), later


def _among(problem: NnnProblem, rows: Rows) -> NnnProblem:
    """The same with fewer rows."""
    l1 = problem.l1[rows] if isinstance(problem.l1, np.ndarray) else problem.l1
    return NnnProblem(problem.corpus.documents[rows], problem.query, l1, problem.l2)


def solve_fista_batch(
    corpus: Corpus,
    queries: NDArray[np.floating],
    l1: float,
    l2: float,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 100_000,
) -> list[Solution]:
    """The same for many queries (b, d) in matrix products, each with restarts of its own.

    Every ten steps those that are within the tolerance leave the batch.

    Raises:
        InvalidProblem: wrong shapes, values that are not finite, or penalties out of range.
    """
    problems = [NnnProblem(corpus, query, l1, l2) for query in queries]
    step_size = 1.0 / max(corpus.lipschitz + l2, np.finfo(np.float64).tiny)
    running = np.arange(len(problems))
    left = np.array([problem.query for problem in problems]).reshape(len(problems), corpus.dimensions)
    z = y = np.zeros((len(problems), corpus.rows))
    momentum = np.ones((len(problems), 1))
    solutions: dict[int, Solution] = {}
    done = 0
    while len(running):
        if done % _CHECK_EVERY == 0 or done >= max_iterations:
            excess = _excesses(corpus, left, z, l1, l2)
            worst = np.where(z > 0, np.abs(excess), excess).max(axis=1)
            ends = (worst <= tolerance) | (done >= max_iterations)
            for number, row in zip(running[ends], z[ends], strict=True):
                evidence = _evidence(problems[number], row)
                solutions[number] = conclude(problems[number], evidence, tolerance=tolerance, rounds=done)
            stay = ~ends
            running, left, z, y, momentum = running[stay], left[stay], z[stay], y[stay], momentum[stay]
        following = np.maximum(0.0, y + step_size * _excesses(corpus, left, y, l1, l2))
        uphill = ((y - following) * (following - z)).sum(axis=1, keepdims=True) > 0
        momentum[uphill] = 1.0
        y, momentum = _extrapolated(z, following, momentum)
        z, done = following, done + 1
    return [solutions[number] for number in range(len(problems))]


def _excesses(corpus: Corpus, queries: Float64, z: Float64, l1: float, l2: float) -> Float64:
    """`_excess` of many problems (b, n)."""
    residuals = queries - z.astype(np.float32) @ corpus.documents
    return corpus.scan_many(residuals) - l1 - l2 * z


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
