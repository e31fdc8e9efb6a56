"""Choosing l1 for one query, where the paper takes one for all: by size, by gain, or by experience.

The first two read the query's own path, the third what was learned from judged requests.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolrank_rescorers.nnn.corpus import Float64
from toolrank_rescorers.nnn.path import Path

_FEATURES = 7
_HAIR = 1e-9
"""Of the way between two breakpoints."""
_RIDGE = 10.0


def shift_of_support(path: Path, size: int) -> float:
    """The smallest τ at which `size` rows are chosen; the path's end where it never comes so far.

    The set is then the first on the path that has this size, as far along as it lasts: a hair above where the
    next row joins or one leaves.
    """
    for before, point in itertools.pairwise(path.breakpoints[:-1]):
        if len(point.solution.support) >= size:
            return point.shift + _HAIR * (before.shift - point.shift)
    return path.breakpoints[-1].shift


def shift_of_residual_drop(path: Path, least: float) -> float:
    """The τ from which on ‖r‖² falls slower than by `least`·‖q‖² for each unit that l1 falls.

    What is looked at is the mean rate between two breakpoints. The first row is chosen in any case; a path
    that keeps its pace is taken to its end.
    """
    energy = float(path.problem.query @ path.problem.query)
    points = path.breakpoints
    for upper, lower in itertools.pairwise(points):
        if not len(upper.solution.support):
            continue
        fallen = _squared(upper.solution.residual) - _squared(lower.solution.residual)
        if fallen < least * energy * (upper.shift - lower.shift):
            return upper.shift
    return points[-1].shift


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


def _squared(vector: Float64) -> float:
    return float(vector @ vector)
