"""An l1 for each request, learned from judged ones by how its similarities fall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kitpick_rescorers.nnn.corpus import Float64

_FEATURES = 7
_RIDGE = 10.0


@dataclass(frozen=True, eq=False)
class LearnedPenalty:
    """Ridge regression from how a query's similarities fall to how well each penalty would do for it."""

    settings: tuple[float, ...]
    """What can be chosen: values of l1, or shares of the largest similarity."""
    mean: Float64
    deviation: Float64
    """Of the features (7,)."""
    weights: Float64
    """(7, settings)."""

    @classmethod
    def fit(
        cls, similarities: Sequence[Float64], utilities: Float64, settings: Sequence[float]
    ) -> LearnedPenalty:
        """Learns from judged requests.

        Args:
            similarities: Of each request, d_jᵀq of its candidates, falling.
            utilities: How well each setting did for each request (requests, settings), e.g. Recall@5.
            settings: What was tried.
        """
        x = np.array([similarity_features(falling) for falling in similarities])
        mean, deviation = x.mean(axis=0), x.std(axis=0)
        mean[0], deviation[0] = 0.0, 1.0  # the constant
        deviation[deviation == 0.0] = 1.0
        x = (x - mean) / deviation
        system = x.T @ x + _RIDGE * np.eye(_FEATURES)
        return cls(tuple(settings), mean, deviation, np.linalg.solve(system, x.T @ utilities))

    def choose(self, falling: Float64) -> float:
        """The setting that promises most for a request with these similarities."""
        features = (similarity_features(falling) - self.mean) / self.deviation
        return self.settings[int((features @ self.weights).argmax())]


def similarity_features(falling: Float64) -> Float64:
    """1; the largest similarity; how far the 2nd, 5th and 20th stay behind; spread of ten, mean of fifty."""
    if not len(falling):
        return np.zeros(_FEATURES)
    at = [float(falling[min(place, len(falling) - 1)]) for place in (0, 1, 4, 19)]
    behind = [at[0] - other for other in at[1:]]
    return np.array([1.0, at[0], *behind, falling[:10].std(), falling[:50].mean()])
