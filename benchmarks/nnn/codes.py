"""The corpus in eight bits: a scan at a fraction of the price, that is off by no more than it says.

With rows d_j = g c_j + δ_j, c_j integers in [−127, 127], and a vector v = t u + ε likewise,

    d_jᵀv = g t c_jᵀu + δ_jᵀv + g c_jᵀε,    |d_jᵀv − g t c_jᵀu| ≤ max ‖δ_j‖ ‖v‖ + max ‖g c_j‖ ‖ε‖,

and c_jᵀu is exact. Whatever is below a threshold by more than that is below it; the few others are computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.corpus import Float32, Float64, Rows
from nnn.integer_product import IntegerProduct

_LARGEST = 127
_BLOCK = 16_384
_BEYOND = 2.0**31 - 1
"""No sum of products comes so far."""
_ROUNDING = 2.0**-22
"""Of the approximations, as float32."""
_CAUTION = 1.0 + 1e-6
"""Norms of what is left over are themselves rounded."""


class Coded(NamedTuple):
    """Approximate correlations unit · values of every row, each off by at most `error`."""

    values: NDArray[np.int32]
    """(n,)."""
    unit: float
    error: float

    def above(self, floor: float | Float64) -> Rows:
        """All rows whose correlation is above the floor, or each its own (n,), and some below; ascending."""
        least = np.floor(np.clip((floor - self.error) / self.unit, -_BEYOND, _BEYOND))
        # Integers compare four times as fast among themselves.
        return np.flatnonzero(self.values > (least if isinstance(floor, np.ndarray) else int(least)))

    @property
    def correlations(self) -> Float32:
        """The approximations as numbers (n,)."""
        return self.values * np.float32(self.unit)


class Codes:
    """Eight-bit codes of rows (n, d), finite; a quarter of their memory.

    Raises:
        MissingExtra, RuntimeClash: onnxruntime is not installed, or twice.
    """

    def __init__(self, documents: Float32) -> None:
        largest = float(np.abs(documents).max())
        self._step = largest / _LARGEST or 1.0
        codes = np.empty(documents.shape, dtype=np.int8)
        self._lost, self._length = 0.0, 0.0
        for start in range(0, len(documents), _BLOCK):
            part = documents[start : start + _BLOCK].astype(np.float64)
            rounded = np.rint(part / self._step)
            codes[start : start + _BLOCK] = rounded
            self._lost = max(self._lost, _longest(part - self._step * rounded))
            self._length = max(self._length, _longest(self._step * rounded))
        self._product = IntegerProduct(codes)

    def scan(self, vector: Float64) -> Coded:
        """Correlations of every row with a vector (d,)."""
        return self.scan_many(vector[None])[0]

    def scan_many(self, vectors: Float64) -> list[Coded]:
        """The same for vectors (b, d)."""
        steps = np.abs(vectors).max(axis=1) / _LARGEST
        steps[steps == 0.0] = 1.0
        rounded = np.rint(vectors / steps[:, None])
        left = np.linalg.norm(vectors - steps[:, None] * rounded, axis=1)
        lengths = np.linalg.norm(vectors, axis=1)
        errors = (self._lost + _ROUNDING * self._length) * lengths * _CAUTION + self._length * left * _CAUTION
        values = self._product(rounded.astype(np.int16))
        return [
            Coded(row, float(unit), float(error))
            for row, unit, error in zip(values, self._step * steps, errors, strict=True)
        ]


def _longest(rows: Float64) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max())) * _CAUTION
