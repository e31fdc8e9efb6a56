"""Calibration: whether a probability is the share of cases in which what it was said of is right."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Pair = tuple[float, bool]
"""A probability, and whether what it was said of was right."""

BINS = 10
_DRAWS = 200


class ReliabilityBin(msgspec.Struct, frozen=True):
    """Hits of similar probability."""

    probability: float
    right: float
    """Share of them that were relevant."""
    hits: int


def reliability_bins(pairs: Sequence[Pair]) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width, empty ones left out: those of the reliability diagram."""
    values, right, bins = _binned(pairs)
    return tuple(
        ReliabilityBin(
            float(values[bins == b].mean()), float(right[bins == b].mean()), int((bins == b).sum())
        )
        for b in range(BINS)
        if (bins == b).any()
    )


def calibration_error(pairs: Sequence[Pair]) -> float:
    """Expected calibration error Σ_b n_b/n · |mean probability − share of right ones| over ten equal bins.

    Naeini, Cooper and Hauskrecht, AAAI 2015. With few hits it is above zero for perfect probabilities too.
    """
    values, right, bins = _binned(pairs)
    return _error(values, right, bins)


def calibration_floor(pairs: Sequence[Pair], seed: int) -> float:
    """Mean `calibration_error` of perfectly calibrated probabilities, by chance alone."""
    values, _, bins = _binned(pairs)
    rng = np.random.default_rng(seed)
    draws = [_error(values, (rng.random(len(values)) < values).astype(float), bins) for _ in range(_DRAWS)]
    return float(np.mean(draws))


def _binned(pairs: Sequence[Pair]) -> tuple[Float64, Float64, NDArray[np.int64]]:
    values = np.array([value for value, _ in pairs], np.float64)
    right = np.array([is_right for _, is_right in pairs], np.float64)
    return values, right, np.minimum((values * BINS).astype(np.int64), BINS - 1)


def _error(values: Float64, right: Float64, bins: NDArray[np.int64]) -> float:
    gaps = np.bincount(bins, weights=right - values, minlength=BINS)
    return float(np.abs(gaps).sum() / len(values))
