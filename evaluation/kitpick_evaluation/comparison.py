"""Compares systems: differences with their significance, and the requests where they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np

from kitpick_evaluation.calibration import ReliabilityBin
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.metrics import Figures
from kitpick_evaluation.report import Report
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


class Side(msgspec.Struct, frozen=True):
    """The answer of one system to a request."""

    system: str
    figure: float
    hits: tuple[str, ...]
    ranks: dict[str, int | None]
    """Rank of each relevant API from 1, None where it was not among the hits."""
    explanation: str = ""
    """The trace in words; empty for a system without one."""


class Changed(msgspec.Struct, frozen=True):
    """A request on which two systems differ most."""

    query: str
    text: str
    relevant: tuple[str, ...]
    sides: tuple[Side, Side]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a comparison."""

    report: Report
    figure: str
    """The figure by which the requests that changed most were chosen."""
    tests: tuple[PairTest, ...]
    changed: tuple[Changed, ...]
    calibration: Mapping[str, tuple[ReliabilityBin, ...]]


def pair_tests(
    figures: Mapping[str, Mapping[str, Figures]], names: Sequence[str], seed: int
) -> tuple[PairTest, ...]:
    """Tests of every pair of systems on every named figure, corrected for their number.

    Args:
        figures: system → query id → figures, the same queries for all.
        names: figures to test.
        seed: of the randomisation and the bootstrap.

    Raises:
        EvaluationError: fewer than two systems, an unknown figure, or systems with different queries.
    """
    if len(figures) < 2:
        raise EvaluationError("a comparison needs two systems or more")
    tests = [
        _pair_test(one, other, name, _differences(figures[one], figures[other], name), seed)
        for one, other in combinations(figures, 2)
        for name in names
    ]
    corrected = holm([test.p for test in tests])
    return tuple(msgspec.structs.replace(test, corrected=p) for test, p in zip(tests, corrected, strict=True))


def most_changed(
    one: Mapping[str, Figures],
    other: Mapping[str, Figures],
    queries: Sequence[JudgedQuery],
    figure: str,
    count: int,
) -> list[JudgedQuery]:
    """The requests whose figure differs most between two systems, ties in the order of the requests."""
    gaps = {query.id: abs(one[query.id][figure] - other[query.id][figure]) for query in queries}
    changed = [query for query in queries if gaps[query.id] > 0]
    return sorted(changed, key=lambda query: -gaps[query.id])[:count]


def side(system: str, figure: float, hits: Sequence[str], query: JudgedQuery, explanation: str) -> Side:
    """One system's answer, with the rank of every relevant API."""
    rank = {api: place for place, api in enumerate(hits, start=1)}
    return Side(
        system, figure, tuple(hits), {api: rank.get(api) for api in sorted(query.relevant)}, explanation
    )


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
