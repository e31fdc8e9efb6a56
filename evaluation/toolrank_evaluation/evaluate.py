"""Ranks every judged request with every profile and sums up the figures per subset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from toolrank_evaluation.dataset import Dataset, JudgedQuery
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
    dataset: Dataset,
    rankers: Mapping[str, Ranker],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """Figures of every ranker on every subset, and their mean over subsets where there are several.

    Args:
        dataset: judged requests; its documents must already be in the catalog that the rankers search.
        rankers: profile name → ranker. All profiles answer one request before the next is asked, so that
            whatever the profiles share (query vector, cross-encoder scores) is computed once.
        cutoffs: the values of k; the largest is the depth asked of a ranker.
        advance: called with the number of requests done since the last call.
    """
    rankings: dict[str, dict[str, Sequence[str]]] = {profile: {} for profile in rankers}
    for query in dataset.queries:
        for profile, ranker in rankers.items():
            rankings[profile][query.id] = ranker(query.text, max(cutoffs))
        advance(1)
    rows = [
        row
        for profile, answers in rankings.items()
        for row in _rows(profile, dataset, score_rankings(dataset.queries, answers, cutoffs))
    ]
    return Report(dataset=dataset.name, queries=len(dataset.queries), rows=tuple(rows))


def _rows(profile: str, dataset: Dataset, figures: Mapping[str, Figures]) -> list[Row]:
    rows = [_row(subset, profile, _of_subset(dataset, subset), figures) for subset in dataset.subsets]
    if len(rows) > 1:
        rows.append(Row(MEAN, profile, len(dataset.queries), mean([row.figures for row in rows])))
    return rows


def _row(subset: str, profile: str, queries: Sequence[JudgedQuery], figures: Mapping[str, Figures]) -> Row:
    return Row(subset, profile, len(queries), mean([figures[query.id] for query in queries]))


def _of_subset(dataset: Dataset, subset: str) -> list[JudgedQuery]:
    return [query for query in dataset.queries if query.subset == subset]
