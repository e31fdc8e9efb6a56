"""Significance of differences: paired randomisation tests, corrected for their number.

Means over requests have confidence intervals by the percentile bootstrap (Efron & Tibshirani, 1993).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

RESAMPLES = 1_000
CONFIDENCE = 0.95
_BLOCK = 4_000_000
"""Numbers held at a time, in resampling and in permuting: 32 MB."""


def mean_intervals(groups: Sequence[Float64], seed: int, resamples: int = RESAMPLES) -> Float64:
    """95 % intervals of the mean over groups of the groups' mean figures, (figures, 2), low and high.

    Requests are drawn with replacement within each group, so that a mean over subsets keeps its subsets.

    A group is its figures (requests, figures); one group makes a plain mean.
    """
    rng = np.random.default_rng(seed)
    drawn = sum((_resampled_means(group, rng, resamples) for group in groups), start=np.zeros(()))
    means = drawn / len(groups)
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


PERMUTATIONS = 10_000


def randomisation_test(
    differences: NDArray[np.float64], seed: int, permutations: int = PERMUTATIONS
) -> float:
    """Two-sided p-value of "both systems are alike", in (0, 1] (Smucker, Allan & Carterette, CIKM 2007).

    If they are alike, each difference could as well have the other sign: the share of random signs whose
    |mean| reaches that of the differences, the one at hand included.

    Args:
        differences: figure of one system minus that of the other, for each request (n,).
        seed: of the signs.
        permutations: how many random sets of signs; the smallest p-value is 1 / (permutations + 1).
    """
    # Requests without a difference change no sum: leaving them out costs nothing and saves most of the time.
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    rng = np.random.default_rng(seed)
    observed = abs(moved.sum())
    block = max(1, _BLOCK // len(moved))
    reached = 0
    for start in range(0, permutations, block):
        signs = rng.integers(0, 2, size=(min(block, permutations - start), len(moved)), dtype=np.int8)
        sums = np.abs((2.0 * signs - 1.0) @ moved)
        # Sums of the same numbers in another order differ by rounding.
        reached += int((sums >= observed - 1e-9 * max(1.0, observed)).sum())
    return (1 + reached) / (1 + permutations)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for how many there are, in their order (Holm, 1979): valid under any dependence."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected
