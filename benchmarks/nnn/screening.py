"""Gap-safe screening: rows known to be in no optimal support before the optimum is known.

For l1 > 0 the dual of the lasso on the rows d̃_i = [d_i; √l2 u_i] is strongly concave, so its optimum ρ* lies
within √(2·gap) of any feasible ρ = r̃/s (Fercoq, Gramfort & Salmon, Mind the duality gap, 2015). A row i is
chosen only where d̃_iᵀρ* = l1_i, hence z_i* = 0 wherever

    d̃_iᵀρ + ‖d̃_i‖ √(2·gap) < l1_i.

The exact solvers have no use for it: once they have stopped, the bounds of `audit` say the same of rows that
were never looked at. It is here for solvers that come nearer step by step and carry all rows along.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.corpus import Corpus, Float64
from kitpick_rescorers.nnn.problem import NnnProblem, scaled_gap

_BLOCK = 16_384


def may_be_chosen(problem: NnnProblem, z: Float64) -> NDArray[np.bool_]:
    """Whether each row (n,) may be in the optimal support, judged from any z ≥ 0 (n,).

    Costs a pass over the corpus in float64. All may where a penalty is not above 0: nothing is known there.
    """
    corpus = problem.corpus
    if not problem.positive:
        return np.ones(corpus.rows, dtype=bool)
    support = np.flatnonzero(z)
    residual = problem.query - z[support] @ corpus.exact_rows(support)
    penalties = problem.penalties(np.arange(corpus.rows))
    augmented = _correlations(corpus, residual) - problem.l2 * z
    energy = float(residual @ residual + problem.l2 * (z @ z))
    radius = math.sqrt(2.0 * max(0.0, scaled_gap(penalties, z, augmented, energy)))
    scale = max(1.0, float((augmented / penalties).max()))
    reach = radius * math.hypot(corpus.largest_norm, math.sqrt(problem.l2)) + corpus.scan_error(residual)
    kept: NDArray[np.bool_] = augmented / scale + reach >= penalties
    return kept


def _correlations(corpus: Corpus, vector: Float64) -> Float64:
    """D v (n,) in float64."""
    starts = range(0, corpus.rows, _BLOCK)
    return np.concatenate([corpus.documents[s : s + _BLOCK].astype(np.float64) @ vector for s in starts])
