"""The best of many scores, in an order that does not depend on chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def best(scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Positions of the k largest scores, best first, equal ones in the order of their positions."""
    k = min(k, len(scores))
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    chosen = np.flatnonzero(scores >= least)
    return chosen[np.argsort(-scores[chosen], kind="stable")[:k]]
