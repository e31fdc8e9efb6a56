"""Ranks every judged request with every profile and sums up the figures per subset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.metrics import CUTOFFS, Figures, mean, score_rankings

Ranker = Callable[[str, int], Sequence[str]]
"""Maps a request's text and a depth to API ids, best first."""

MEAN = "mean"
"""Name of the row that averages over subsets, each subset counting once (as ToolRerank's table does)."""


class Row(msgspec.Struct, frozen=True):
    """Figures of one profile on one subset, each in [0, 1]."""

    subset: str
    profile: str
    queries: int
    figures: Figures


class Report(msgspec.Struct, frozen=True):
    """Everything one evaluation found."""

    dataset: str
    queries: int
    rows: tuple[Row, ...]

    def row(self, subset: str, profile: str) -> Row:
        """The row of one subset and profile.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if (row.subset, row.profile) == (subset, profile):
                return row
        raise KeyError((subset, profile))


def evaluate(
    name: str,
    queries: Sequence[JudgedQuery],
    rankers: Mapping[str, Ranker],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """Figures of every ranker on every subset, and their mean over subsets where there are several.

    Args:
        name: of the dataset, for the report.
        queries: judged requests; their APIs must be in the catalog that the rankers search.
        rankers: profile name → ranker. All profiles answer one request before the next is asked, so that
            whatever the profiles share (query vector, cross-encoder scores) is computed once.
        cutoffs: the values of k; the largest is the depth asked of a ranker.
        advance: called with the number of requests done since the last call.
    """
    rankings: dict[str, dict[str, Sequence[str]]] = {profile: {} for profile in rankers}
    for query in queries:
        for profile, ranker in rankers.items():
            rankings[profile][query.id] = ranker(query.text, max(cutoffs))
        advance(1)
    rows = [
        row
        for profile, answers in rankings.items()
        for row in _rows(profile, queries, score_rankings(queries, answers, cutoffs))
    ]
    return Report(dataset=name, queries=len(queries), rows=tuple(rows))


def _rows(profile: str, queries: Sequence[JudgedQuery], figures: Mapping[str, Figures]) -> list[Row]:
    subsets: defaultdict[str, list[Figures]] = defaultdict(list)
    for query in queries:
        subsets[query.subset].append(figures[query.id])
    rows = [Row(subset, profile, len(found), mean(found)) for subset, found in subsets.items()]
    if len(rows) > 1:
        rows.append(Row(MEAN, profile, len(queries), mean([row.figures for row in rows])))
    return rows
