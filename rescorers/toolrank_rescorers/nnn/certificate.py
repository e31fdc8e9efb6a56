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

import numpy as np

from toolrank_rescorers.nnn.compiled import compiled
from toolrank_rescorers.nnn.corpus import Float64


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


@compiled
def violation(excess: Float64, coefficients: Float64, l2: float) -> float:
    """Largest violation among rows with these e_i and z_i."""
    missed = np.where(coefficients > 0.0, np.abs(excess - l2 * coefficients), excess)
    return max(0.0, missed.max()) if len(missed) else 0.0


@compiled
def duality_gap(
    correlations: Float64, penalties: Float64, z: Float64, energy: float, l2: float, positive: bool
) -> float:
    """Upper bound of P(z) − P*, of rows (m,) that are at least those with z_i > 0 or d_iᵀr > l1_i.

    Args:
        correlations: d_iᵀr (m,), float64.
        penalties: l1_i (m,).
        z: Coefficients (m,), 0 beyond the support.
        energy: ‖r‖².
        l2: Ridge penalty.
        positive: Every l1_i of the corpus is above 0, and so far that one can divide by it.
    """
    bound = np.inf
    if l2 > 0.0:
        bound = _fenchel_gap(correlations - penalties, z, l2)
    if positive:
        augmented = correlations - l2 * z
        bound = min(bound, scaled_gap(penalties, z, augmented, energy + l2 * (z * z).sum()))
    return max(0.0, bound)


@compiled
def _fenchel_gap(excess: Float64, z: Float64, l2: float) -> float:
    above = np.square(l2 * z - excess) / (2.0 * l2)
    below = z * (0.5 * l2 * z - excess)
    return float(np.where(excess > 0.0, above, below).sum())


@compiled
def scaled_gap(penalties: Float64, z: Float64, augmented: Float64, energy: float) -> float:
    """P(z) − D(r̃/s), of rows with correlations h (m,), penalties > 0, and R = `energy`."""
    scale = 1.0
    if len(z):
        scale = max(1.0, (augmented / penalties).max())
    shrink = 1.0 / scale
    return float(0.5 * energy * (1.0 - shrink) ** 2 + (z * (penalties - shrink * augmented)).sum())
