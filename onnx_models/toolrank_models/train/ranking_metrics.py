"""What a recipe is chosen by: how well scores order the lists of the validation split."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_models.train.examples import RankingList, RetrievalSet

Scores = NDArray[np.float32]


class RankingFigures(msgspec.Struct, frozen=True):
    """Means over the answerable lists, in [0, 1]."""

    ndcg: float
    recall: float
    complete: float
    lists: int


def ranking_figures(lists: Sequence[RankingList], scores: Sequence[Scores], k: int = 5) -> RankingFigures:
    """NDCG@k, Recall@k and Comp@k (all right texts in the top k). Ties keep the incoming order."""
    rows = [
        _figures(np.asarray(item.relevant)[np.argsort(-score, kind="stable")], k)
        for item, score in zip(lists, scores, strict=True)
        if item.answerable
    ]
    if not rows:
        return RankingFigures(0.0, 0.0, 0.0, 0)
    ndcg, recall, complete = np.mean(rows, axis=0)
    return RankingFigures(float(ndcg), float(recall), float(complete), len(rows))


def catalog_figures(found: RetrievalSet, scores: Scores, k: int = 5) -> RankingFigures:
    """Figures of searching a whole catalog, for scores (requests, texts)."""
    lists = []
    for query, right in zip(found.queries, found.relevant, strict=True):
        labels = np.zeros(len(found.texts), bool)
        labels[list(right)] = True
        lists.append(RankingList(query, found.texts, tuple(labels.tolist()), found.name))
    return ranking_figures(lists, list(scores), k)


def mean_figures(sets: Sequence[RankingFigures]) -> RankingFigures:
    """Mean over sets, each counting the same whatever its size."""
    ndcg, recall, complete = np.mean([(f.ndcg, f.recall, f.complete) for f in sets], axis=0)
    return RankingFigures(float(ndcg), float(recall), float(complete), sum(f.lists for f in sets))


def _figures(ordered: NDArray[np.bool_], k: int) -> tuple[float, float, float]:
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    total = int(ordered.sum())
    top = ordered[:k]
    ideal = discounts[: min(total, k)].sum()
    found = int(top.sum())
    return float((discounts[: len(top)] * top).sum() / ideal), found / total, float(found == total)
