"""The rows of the ToolLens table from vectors: settings chosen on requests held out from training, then test.

dense, MMR and NNN on the vectors as they are; `votes` lets the training requests that lie nearest vote for
their APIs; `ours` adds both rankings up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mmr import mmr
from nnn.batch import solve_batch
from numpy.typing import NDArray

from kitpick_rescorers.nnn import Corpus, NnnProblem, ranking

FIGURES = ("R@3", "R@5", "C@3", "C@5")
DEPTH = 5
DIVERSITY = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
L1 = (0.05, 0.1, 0.2, 0.3)
L2 = (0.3, 1.0, 3.0)
NEIGHBOURS = (10, 20, 40)
SHARPNESS = (10.0, 30.0)
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
_BLOCK = 256
Vectors = NDArray[np.float32]
Orders = Sequence[NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Split:
    """Unit vectors of requests (q, d) and the numbers of the texts that answer each."""

    queries: Vectors
    relevant: Sequence[Sequence[int]]

    def judge(self, orders: Orders) -> dict[str, float]:
        """Recall and completeness at 3 and 5, in [0, 1], means over all requests."""
        rows = []
        for order, right in zip(orders, self.relevant, strict=True):
            found = [len(set(order[:k].tolist()) & set(right)) for k in (3, DEPTH)]
            rows.append([n / len(right) for n in found] + [float(n == len(right)) for n in found])
        return dict(zip(FIGURES, np.mean(rows, axis=0).tolist(), strict=True))


def decoded(documents: Vectors, train: Split, held_out: Split, test: Split) -> dict[str, Any]:
    """Method → its figures on test, what was chosen, and its figures on the requests that chose."""
    corpus = Corpus(documents)
    found: dict[str, Any] = {}

    def best(name: str, settings: Iterable[Any], orders: Callable[[Split, Any], Orders]) -> Any:  # noqa: ANN401
        tried = [(held_out.judge(orders(held_out, setting)), setting) for setting in settings]
        figures, chosen = max(tried, key=lambda item: item[0]["C@5"] + item[0]["R@5"])
        found[name] = {**test.judge(orders(test, chosen)), "chosen": chosen, "held_out": figures}
        return chosen

    best("dense", [()], lambda split, _: dense(documents, split))
    best("MMR", DIVERSITY, lambda split, diversity: diverse(documents, split, diversity))
    best("NNN", itertools.product(L1, L2), lambda split, penalties: nnn(corpus, split, *penalties))
    votes = best(
        "votes",
        itertools.product(NEIGHBOURS, SHARPNESS),
        lambda split, s: voted(documents, train, split, *s, 0.0),
    )
    best("ours", WEIGHTS, lambda split, weight: voted(documents, train, split, *votes, weight))
    return found


def dense(documents: Vectors, split: Split) -> Orders:
    """By cosine."""
    return list(np.argsort(-(split.queries @ documents.T), axis=1, kind="stable")[:, :DEPTH])


def diverse(documents: Vectors, split: Split, diversity: float) -> Orders:
    """Maximal marginal relevance."""
    return [mmr(documents @ query, documents, diversity, DEPTH) for query in split.queries]


def nnn(corpus: Corpus, split: Split, l1: float, l2: float) -> Orders:
    """By coefficient of the exact solution."""
    solutions = solve_batch(corpus, split.queries, l1, l2)
    return [
        ranking(solution, NnnProblem(corpus, query, l1, l2), DEPTH)
        for solution, query in zip(solutions, split.queries, strict=True)
    ]


def voted(
    documents: Vectors, train: Split, split: Split, neighbours: int, sharpness: float, weight: float
) -> Orders:
    """By the votes of the nearest training requests, and `weight` times the cosine.

    A vote counts exp(sharpness · (cosine − 1)); all votes for a request sum to 1.
    """
    answers = np.zeros((len(train.queries), len(documents)), np.float32)
    for row, right in enumerate(train.relevant):
        answers[row, list(right)] = 1.0
    orders: list[NDArray[np.intp]] = []
    for start in range(0, len(split.queries), _BLOCK):
        queries = split.queries[start : start + _BLOCK]
        near = queries @ train.queries.T
        nearest = np.argpartition(-near, neighbours, axis=1)[:, :neighbours]
        says = np.exp(sharpness * (np.take_along_axis(near, nearest, axis=1) - 1.0))
        votes = np.einsum("qn,qnd->qd", says / says.sum(axis=1, keepdims=True), answers[nearest])
        scores = votes + weight * (queries @ documents.T)
        orders += list(np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH])
    return orders
