"""How far two readings of the same lists agree: Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

GRADES = 3


class Agreement(NamedTuple):
    """Of two readings of the same candidates."""

    candidates: int
    same: float
    """Share of candidates with the same grade, in [0, 1]."""
    kappa: float
    """Cohen's, in [−1, 1]: 1 where all grades are the same, 0 where they agree as chance would."""
    weighted: float
    """The same where a difference counts by its square: 0 for 2 is four times as far as 1 for 2."""


def agreement(first: Sequence[int], second: Sequence[int]) -> Agreement:
    """The agreement of grades 0, 1, 2 of the same candidates in the same order; at least one.

    Where one of the readings knows but one grade and the other agrees, kappa is 1.
    """
    counts = np.zeros((GRADES, GRADES))
    np.add.at(counts, (np.asarray(first, int), np.asarray(second, int)), 1.0)
    observed = counts / counts.sum()
    expected = np.outer(observed.sum(1), observed.sum(0))
    apart = np.abs(np.subtract.outer(np.arange(GRADES), np.arange(GRADES))).astype(float)
    differ, far = np.minimum(apart, 1.0), apart**2
    return Agreement(
        len(first),
        float(np.trace(observed)),
        _kappa(observed, expected, differ),
        _kappa(observed, expected, far),
    )


def _kappa(observed: np.ndarray, expected: np.ndarray, cost: np.ndarray) -> float:
    chance = float((expected * cost).sum())
    return 1.0 - float((observed * cost).sum()) / chance if chance else 1.0
