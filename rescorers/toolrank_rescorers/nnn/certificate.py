"""What proves that a z is optimal, or says how far it is from it.

With r = q − Dᵀz, e_i = d_iᵀr − l1_i, the optimality (KKT) conditions are e_i = l2 z_i where z_i > 0 and
e_i ≤ 0 elsewhere. Both measures below need only the rows with z_i > 0 or e_i > 0: every other row adds
nothing, once it is *known* to have e_i ≤ 0.

*Gap.* For l2 > 0 the Fenchel dual at ν = r is feasible whatever r is, and the terms cancel to

    P(z) − D(r) = Σ_i (l2 z_i − e_i)² / 2 l2   over rows with e_i > 0
                + Σ_i z_i (½ l2 z_i − e_i)     over the others.

For l1 > 0 the problem is a non-negative lasso on the rows [d_i; √l2 u_i], with residual r̃ of squared length
R = ‖r‖² + l2‖z‖² and correlations h_i = d_iᵀr − l2 z_i. Scaling r̃ by 1/s, s = max(1, max h_i / l1_i), is
feasible:

    P(z) − D(r̃/s) = ½ R (1 − 1/s)² + Σ_i z_i (l1_i − h_i / s).

Both are upper bounds of P(z) − P*; the smaller is reported. At l1 = l2 = 0 neither applies, no bound that
survives rounding is known, and the gap is infinite: there only the violation certifies. (Boyd & Vandenberghe,
Convex Optimization, 5.1; Fercoq, Gramfort & Salmon, Mind the duality gap, 2015.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

_VANISHING = 1e-12
"""Scaling by a penalty below this would overflow, and prove nothing."""

if TYPE_CHECKING:
    from toolrank_rescorers.nnn.corpus import Float64, Rows
    from toolrank_rescorers.nnn.problem import Problem


@dataclass(frozen=True)
class Certificate:
    """Largest violation of the optimality conditions, duality gap, and how much of the corpus they cover."""

    violation: float
    """max over the covered rows: |e_i − l2 z_i| in the support, max(e_i, 0) beyond it."""
    gap: float
    """Upper bound of P(z) − P* over the covered rows; infinite where l1 = l2 = 0."""
    tolerance: float
    """The violation that was asked for."""
    rows: int
    """Size of the corpus."""
    checked_rows: int
    """Rows whose correlation with the final residual was computed."""
    excluded_rows: int
    """Further rows that a bound proves to satisfy their condition."""
    rounds: int
    """Rounds or iterations that the solver took."""

    @property
    def exact(self) -> bool:
        """Optimal within the tolerance over the whole corpus."""
        return self.checked_rows + self.excluded_rows == self.rows and self.violation <= self.tolerance


def violation(excess: Float64, coefficients: Float64, l2: float) -> float:
    """Largest violation among rows with these e_i and z_i."""
    if not len(excess):
        return 0.0
    return float(np.where(coefficients > 0, np.abs(excess - l2 * coefficients), excess).max(initial=0.0))


def duality_gap(
    problem: Problem, rows: Rows, coefficients: Float64, residual: Float64, correlations: Float64
) -> float:
    """Upper bound of P(z) − P*.

    Args:
        problem: What was solved.
        rows: At least the rows (m,) with z_i > 0 or d_iᵀr > l1_i.
        coefficients: z of these rows, 0 beyond the support.
        residual: q − Dᵀz (d,).
        correlations: d_iᵀr of these rows (m,), float64.
    """
    penalties = problem.penalties(rows)
    bounds = [np.inf]
    if problem.l2 > 0:
        bounds.append(_fenchel_gap(correlations - penalties, coefficients, problem.l2))
    if problem.lowest_penalty > _VANISHING:
        bounds.append(_scaled_gap(penalties, coefficients, residual, correlations, problem.l2))
    return max(0.0, min(bounds))


def _fenchel_gap(excess: Float64, z: Float64, l2: float) -> float:
    above = np.square(l2 * z - excess) / (2 * l2)
    return float(np.where(excess > 0, above, z * (0.5 * l2 * z - excess)).sum())


def _scaled_gap(penalties: Float64, z: Float64, residual: Float64, correlations: Float64, l2: float) -> float:
    augmented = correlations - l2 * z
    shrink = 1.0 / max(1.0, float((augmented / penalties).max(initial=0.0)))
    energy = float(residual @ residual + l2 * (z @ z))
    return 0.5 * energy * (1.0 - shrink) ** 2 + float(z @ (penalties - shrink * augmented))
