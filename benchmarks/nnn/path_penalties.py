"""Two rules that choose a penalty for each query by its path; the paper takes one for all queries."""

from __future__ import annotations

import itertools

from kitpick_rescorers.nnn import Path
from kitpick_rescorers.nnn.corpus import Float64

_HAIR = 1e-9
"""Share of the way between two breakpoints."""


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


def _squared(vector: Float64) -> float:
    return float(vector @ vector)
