"""What is learned from, requests with texts of which some are right, and the figures a model is chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]


class RankingList(msgspec.Struct, frozen=True):
    """One request, the texts it is compared with, and which of them answer it (possibly none)."""

    query: str
    texts: tuple[str, ...]
    relevant: tuple[bool, ...]
    source: str = ""
    grades: tuple[float, ...] = ()
    """How good a teacher holds each text to be, equal ones in no order; empty where nobody taught."""
    doubtful: tuple[bool, ...] = ()
    """Which texts are wrong only because nobody called them right; empty: none."""

    @property
    def answerable(self) -> bool:
        """Whether any text is right."""
        return any(self.relevant)


class ListSource(Protocol):
    """Training lists as a pure function of the step, so that a resumed run sees what it would have seen."""

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step: equal for equal arguments, on any machine."""

    def validation(self) -> Sequence[RankingList]:
        """Lists of held-out groups, candidates as a first stage would bring them."""


class ListScorer(Protocol):
    """A trained cross-encoder."""

    def score_lists(self, lists: Sequence[RankingList]) -> Sequence[NDArray[np.float32]]:
        """The logit of every text of every list."""


class RetrievalSet(msgspec.Struct, frozen=True):
    """A held-out catalog: requests, all texts they are searched in, and the numbers of the right ones."""

    name: str
    queries: tuple[str, ...]
    texts: tuple[str, ...]
    relevant: tuple[tuple[int, ...], ...]


class ClosedCatalog(msgspec.Struct, frozen=True):
    """All texts of one catalog, requests to learn from, and requests over the same texts to choose by."""

    queries: tuple[str, ...]
    relevant: tuple[tuple[int, ...], ...]
    """For each request the numbers, in `held_out.texts`, of the texts that answer it; never empty."""
    held_out: RetrievalSet

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the catalog."""
        return self.held_out.texts


class EncoderSource(Protocol):
    """Training lists of retrieval texts, and the catalogs that were held out."""

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step: equal for equal arguments, on any machine."""

    def retrieval(self) -> Sequence[RetrievalSet]:
        """What an encoder is chosen by."""


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


def catalog_figures(found: RetrievalSet, scores: Scores) -> RankingFigures:
    """Figures of searching a whole catalog, for scores (requests, texts)."""
    lists = []
    for query, right in zip(found.queries, found.relevant, strict=True):
        labels = np.zeros(len(found.texts), bool)
        labels[list(right)] = True
        lists.append(RankingList(query, found.texts, tuple(labels.tolist()), found.name))
    return ranking_figures(lists, list(scores))


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
