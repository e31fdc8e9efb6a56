"""Observations besides the figures: calibration, and the depth at which relevant APIs lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from kitpick_evaluation.answer import Answer
from kitpick_evaluation.calibration import Pair, ReliabilityBin, reliability_bins
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.facets import Facets

DEPTHS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)
"""Values of m: how many candidates of the first stage are looked at."""


class DepthRecall(msgspec.Struct, frozen=True):
    """Share of the relevant APIs among the first m candidates of the first stage, for each m in `DEPTHS`."""

    subset: str
    """`seen`, `unseen` or `mixed`; `all` where no reranker is asked."""
    requests: int
    recall: tuple[float, ...]


class Observations:
    """An observer of an evaluation that keeps sums instead of traces."""

    def __init__(self, facets: Facets) -> None:
        self._facets = facets
        self._pairs: defaultdict[str, list[Pair]] = defaultdict(list)
        self._recalls: defaultdict[str, defaultdict[str, list[list[float]]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def __call__(self, profile: str, query: JudgedQuery, answer: Answer) -> None:
        """Records one answer."""
        for api, probability in zip(answer.ids, answer.probabilities, strict=False):
            if probability is not None:
                self._pairs[profile].append((probability, api in query.relevant))
        if answer.trace:
            subset = self._facets.of(query).get("seen", ("all",))[0]
            self._recalls[profile][subset].append(
                recall_at_depths(query.counted(answer.trace[0].order), query.counted_relevant)
            )

    def calibration(self, profile: str) -> tuple[ReliabilityBin, ...]:
        """Reliability of the probabilities, in ten bins of equal width; empty bins are left out."""
        return reliability_bins(self._pairs[profile])

    def depth_recall(self, profile: str) -> tuple[DepthRecall, ...]:
        """How the first stage's recall grows with m, for each subset of seen and unseen tools."""
        found: Mapping[str, list[list[float]]] = self._recalls[profile]
        return tuple(
            DepthRecall(subset, len(rows), tuple(np.mean(rows, axis=0).tolist()))
            for subset, rows in sorted(found.items())
        )


def recall_at_depths(order: Sequence[str], relevant: frozenset[str]) -> list[float]:
    """Recall among the first m of an order, for each m in `DEPTHS`."""
    places = [place for place, api in enumerate(order[: max(DEPTHS)], start=1) if api in relevant]
    return [sum(place <= depth for place in places) / len(relevant) for depth in DEPTHS]
