"""The Cholesky factor of the support's Gram matrix, kept by insertion and deletion.

M = L⁻¹ for K = L Lᵀ, K = D_S D_Sᵀ + l2 I of the k active rows, in the leading block of a larger array. Every
operation costs O(k²), none O(k³). Holding the inverse of the triangular factor rather than the factor makes a
solve two matrix–vector products; its condition is only the square root of that of K⁻¹.
"""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.compiled import compiled
from toolrank_rescorers.nnn.corpus import Float64
from toolrank_rescorers.nnn.kernels import lower_combination, lower_product, preceding_sums


@compiled
def solve(factor: Float64, k: int, right: Float64) -> Float64:
    """K⁻¹ b (k,)."""
    return lower_combination(lower_product(factor, k, right), factor, k)


@compiled
def project(factor: Float64, k: int, column: Float64) -> Float64:
    """L⁻¹ x of a new row's Gram column (k,): its ‖·‖² is how much of the row the active ones explain."""
    return lower_product(factor, k, column)


@compiled
def insert(factor: Float64, k: int, projected: Float64, pivot: float) -> None:
    """Appends a row: L gains the row [projectedᵀ, √pivot], pivot = κ − ‖projected‖² > 0."""
    scale = 1.0 / np.sqrt(pivot)
    factor[k, :k] = -scale * lower_combination(projected, factor, k)
    factor[k, k] = scale


@compiled
def delete(factor: Float64, k: int, p: int) -> None:
    """Removes active row p of k.

    The trailing block of L becomes L₃₃ C with C Cᵀ = I + w wᵀ, w = L₃₃⁻¹ L[p+1:, p]. With
    t_i = 1 + Σ_{j ≤ i} w_j², a sum of squares, so that the update is stable,

        (C⁻¹ x)_i = √(t_{i-1}/t_i) (x_i − w_i/t_{i-1} Σ_{j<i} w_j x_j)

    (Gill, Golub, Murray & Saunders, Methods for modifying matrix factorizations, 1974).
    """
    gone = factor[p, : p + 1].copy()
    trailing = factor[p + 1 : k, :k].copy()
    w = trailing[:, p] / -gone[p]
    trailing[:, : p + 1] += np.outer(w, gone)
    sums = 1.0 + np.cumsum(w * w)
    before = np.append(np.ones(1), sums)[:-1]
    trailing -= np.expand_dims(w / before, 1) * preceding_sums(w, trailing)
    trailing *= np.expand_dims(np.sqrt(before / sums), 1)
    factor[p : k - 1, :p] = trailing[:, :p]
    factor[p : k - 1, p : k - 1] = trailing[:, p + 1 :]
    factor[k - 1, :k] = 0.0
