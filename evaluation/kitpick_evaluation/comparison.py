"""Compares systems: differences with their significance, and the requests where they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.metrics import Figures
from kitpick_evaluation.significance import holm, mean_intervals, randomisation_test

ALPHA = 0.05
"""Corrected p-values below this are called a difference."""


class PairTest(msgspec.Struct, frozen=True):
    """One figure of two systems on the same requests."""

    better: str
    """The system with the larger mean; the first of the two where they are equal."""
    worse: str
    figure: str
    difference: float
    """Mean over all requests, each counting once, at least 0."""
    interval: tuple[float, float]
    """95 % bootstrap interval of the difference."""
    p: float
    corrected: float
    """`p`, corrected by Holm's method for all tests of the comparison."""
    wins: int
    """Requests on which `better` is better."""
    losses: int


def pair_tests(
    figures: Mapping[str, Mapping[str, Figures]], names: Sequence[str], seed: int
) -> tuple[PairTest, ...]:
    """Tests of the first system against each other one on every named figure, corrected for their number.

    `figures` has system → query id → figures, the same queries for all; `names` are those that are tested.

    Raises:
        EvaluationError: an unknown figure, or systems with different queries.
    """
    first, *others = figures
    tests = [
        _pair_test(first, other, name, _differences(figures[first], figures[other], name), seed)
        for other in others
        for name in names
    ]
    corrected = holm([test.p for test in tests])
    return tuple(msgspec.structs.replace(test, corrected=p) for test, p in zip(tests, corrected, strict=True))


def _differences(one: Mapping[str, Figures], other: Mapping[str, Figures], name: str) -> np.ndarray:
    if one.keys() != other.keys():
        raise EvaluationError("the systems were asked different requests")
    if any(name not in found for found in one.values()):
        known = ", ".join(next(iter(one.values())))
        raise EvaluationError(f"no figure {name!r}; there are {known}")
    return np.array([one[query][name] - other[query][name] for query in one])


def _pair_test(one: str, other: str, name: str, differences: np.ndarray, seed: int) -> PairTest:
    if differences.mean() < 0:
        one, other, differences = other, one, -differences
    low, high = mean_intervals([differences[:, None]], seed)[0].tolist()
    return PairTest(
        better=one,
        worse=other,
        figure=name,
        difference=float(differences.mean()),
        interval=(low, high),
        p=randomisation_test(differences, seed),
        corrected=1.0,
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
    )
