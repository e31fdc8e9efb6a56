"""The Cholesky factor of the support's Gram matrix, kept by insertion and deletion."""

from __future__ import annotations

import numpy as np

from toolrank_rescorers.nnn.corpus import Float64


class InverseFactor:
    """M = L⁻¹ for K = L Lᵀ, K = D_S D_Sᵀ + l2 I of k active rows. Every operation costs O(k²), never O(k³).

    Holding the inverse of the triangular factor rather than the factor makes solves two matrix–vector
    products; its condition is only the square root of that of K⁻¹. One step of refinement brings K z = b to
    working precision.
    """

    def __init__(self, capacity: int = 32) -> None:
        self._m = np.zeros((capacity, capacity))
        self.size = 0

    @property
    def matrix(self) -> Float64:
        """M (k, k), lower triangular; a view."""
        return self._m[: self.size, : self.size]

    def solve(self, right: Float64) -> Float64:
        """K⁻¹ b (k,)."""
        matrix = self.matrix
        return (matrix @ right) @ matrix

    def project(self, column: Float64) -> Float64:
        """Solves L x = column (k,): ‖x‖² is how much of the new row the active ones explain."""
        return self.matrix @ column

    def insert(self, projected: Float64, pivot: float) -> None:
        """Appends a row: L gains the row [xᵀ, √pivot], pivot = κ − ‖x‖² > 0."""
        k = self.size
        if k == len(self._m):
            self._m = _enlarged(self._m)
        scale = 1.0 / np.sqrt(pivot)
        self._m[k, :k] = (projected @ self._m[:k, :k]) * -scale
        self._m[k, k] = scale
        self.size = k + 1

    def delete(self, p: int) -> None:
        """Removes active row p.

        The trailing block of L becomes L₃₃ C with C Cᵀ = I + w wᵀ, w = L₃₃⁻¹ L[p+1:, p]. With
        t_i = 1 + Σ_{j ≤ i} w_j², a sum of squares, so that the update is stable,

            (C⁻¹ x)_i = √(t_{i-1}/t_i) (x_i − w_i/t_{i-1} Σ_{j<i} w_j x_j)

        (Gill, Golub, Murray & Saunders, Methods for modifying matrix factorizations, 1974).
        """
        k = self.size
        below, gone = self._m[p + 1 : k, :k], self._m[p, : p + 1]
        w = below[:, p] / -gone[p]
        trailing = below.copy()
        trailing[:, : p + 1] += np.outer(w, gone)
        sums = 1.0 + np.cumsum(w * w)
        before = np.concatenate([[1.0], sums[:-1]])
        earlier = np.cumsum(w[:-1, None] * trailing[:-1], axis=0)
        trailing[1:] -= (w / before)[1:, None] * earlier
        trailing *= np.sqrt(before / sums)[:, None]
        self._m[p : k - 1, :p] = trailing[:, :p]
        self._m[p : k - 1, p : k - 1] = trailing[:, p + 1 :]
        self._m[k - 1, :k] = 0.0
        self.size = k - 1


def _enlarged(matrix: Float64) -> Float64:
    larger = np.zeros((2 * len(matrix), 2 * len(matrix)))
    larger[: len(matrix), : len(matrix)] = matrix
    return larger
