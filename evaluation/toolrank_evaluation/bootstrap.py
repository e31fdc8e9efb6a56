"""Confidence intervals of means over requests, by the percentile bootstrap (Efron & Tibshirani, 1993)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Interval = tuple[float, float]

RESAMPLES = 1_000
CONFIDENCE = 0.95
_BLOCK = 4_000_000
"""Resampled counts held at a time: 32 MB."""


def mean_intervals(groups: Sequence[Float64], seed: int, resamples: int = RESAMPLES) -> Float64:
    """95 % intervals of the mean over groups of the groups' mean figures, (figures, 2), low and high.

    Requests are drawn with replacement within each group, so that a mean over subsets keeps its subsets.

    Args:
        groups: for each group its figures (requests, figures); one group for a plain mean.
        seed: equal seeds give equal intervals.
        resamples: how many times the requests are drawn anew.
    """
    rng = np.random.default_rng(seed)
    means = sum((_resampled_means(group, rng, resamples) for group in groups), start=np.zeros(())) / len(
        groups
    )
    tail = (1 - CONFIDENCE) / 2
    intervals: Float64 = np.quantile(means, [tail, 1 - tail], axis=0).T
    return intervals


def _resampled_means(figures: Float64, rng: np.random.Generator, resamples: int) -> Float64:
    """Means (resamples, figures): how often each request is drawn is multinomial."""
    requests = len(figures)
    block = max(1, _BLOCK // requests)
    drawn = []
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        counts = rng.multinomial(requests, np.full(requests, 1 / requests), size=size)
        drawn.append(counts @ figures / requests)
    return np.concatenate(drawn)
