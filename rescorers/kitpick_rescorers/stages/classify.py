"""Classification of the query: does it need one tool or several?

A classifier reads the query's vector, or what a reranked list says. Several APIs of one tool are one tool. So
what counts is how relevance spreads over tools, whether what other tools offer resembles the best tool's APIs
(alternatives) or not (complements), and how much of the query the best tool explains alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models, QueryKind
from kitpick_rescorers.nnn import NnnProblem, solve_active_set
from kitpick_rescorers.stages.base import Stage
from kitpick_rescorers.state import Matrix, QueryKindEstimate, Ranked, State, direction_of, unit_vectors

_RIDGE = 0.1
"""Keeps the reconstruction of a query by near-duplicates unique."""


class _Spread:
    """Relevance of the scored candidates as a distribution, and its sums over tools."""

    def __init__(self, items: Sequence[Ranked], scores: Matrix) -> None:
        weights = np.exp(scores - scores.max())
        self.weights: Matrix = weights / weights.sum()
        tools: dict[str, float] = {}
        for item, weight in zip(items, self.weights.tolist(), strict=True):
            tools[item.tool] = tools.get(item.tool, 0.0) + weight
        self.shares = sorted(tools.values(), reverse=True)
        self.best = max(tools, key=lambda tool: tools[tool])

    @property
    def entropy(self) -> float:
        """Entropy over tools, in nats."""
        return -sum(share * math.log(share) for share in self.shares if share > 0)


class _ScoredList:
    """The scored candidates, from which all features are computed."""

    def __init__(self, state: State) -> None:
        items = [item for item in state.scored if not item.fetched]
        if not items:
            raise StageUnavailable("there are no cross-encoder scores to tell the kind of the query by")
        logits = np.array([item.logit for item in items], dtype=np.float64)
        spread = logits.std()
        standard = (logits - logits.mean()) / (spread if spread > 1e-12 else 1.0)
        prior = np.log([item.first_rank for item in items])
        self.blended = _Spread(items, standard - prior)
        self.scored = _Spread(items, logits)
        self.query = direction_of(state)
        self.vectors, _ = unit_vectors(items, len(self.query))
        self.best = np.array([item.tool == self.blended.best for item in items])

    def complement(self) -> float:
        """Relevance of other tools' APIs, each weighted by its distance to the APIs of the best tool."""
        nearest = (self.vectors @ self.vectors[self.best].T).max(axis=1)
        others = ~self.best
        return float(self.blended.weights[others] @ (1.0 - nearest[others]))

    def explained_alone(self) -> float:
        """Share of the query that the best tool's APIs explain alone, of what all candidates explain."""
        whole, alone = self._explained(self.vectors), self._explained(self.vectors[self.best])
        return alone / whole if whole > 0 else 1.0

    def _explained(self, vectors: Matrix) -> float:
        residual = solve_active_set(NnnProblem(vectors, self.query, 0.0, _RIDGE)).residual
        return float(1.0 - residual @ residual)


_FEATURES: Mapping[str, Callable[[_ScoredList], float]] = {
    "top_tool_share": lambda e: e.blended.shares[0],
    "tool_entropy": lambda e: e.blended.entropy,
    "top_tool_share_by_score": lambda e: e.scored.shares[0],
    "tool_entropy_by_score": lambda e: e.scored.entropy,
    "complement": _ScoredList.complement,
    "explained_alone": _ScoredList.explained_alone,
}
KIND_FEATURES = tuple(_FEATURES)
"""Names of all features, in the order in which a new classifier is trained on them."""


def kind_features(state: State, names: Sequence[str]) -> Matrix:
    """The named features of a scored list, float64 (n,). Shares lie in [0, 1], entropies are in nats.

    Raises:
        StageUnavailable: nothing is scored, the request has no usable vector, or a name is unknown.
    """
    unknown = sorted(set(names) - set(_FEATURES))
    if unknown:
        raise StageUnavailable(f"the classifier reads unknown features: {', '.join(unknown)}")
    evidence = _ScoredList(state)
    return np.array([_FEATURES[name](evidence) for name in names])


class Classify(Stage, frozen=True, tag="classify"):
    """Sets the query kind, which `when` of later stages reads. `threshold` None takes the classifier's.

    If the classifier reads the scored list, this stage must come after `cross_encode`.
    """

    requires = frozenset({"vector", "query_kind"})

    threshold: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] | None = None

    def apply(self, state: State, models: Models) -> State:
        """The same list, with the kind of the query."""
        if models.query_kind is None:
            raise StageUnavailable("no classifier of query kinds is loaded")
        probability = _probability(models.query_kind, _inputs(models.query_kind, state))
        threshold = models.query_kind.threshold if self.threshold is None else self.threshold
        kind = QueryKindEstimate("multi" if probability >= threshold else "single", probability)
        note = f"{kind.kind}-tool: probability of several {probability:.2f}, threshold {threshold:.2f}"
        return state.with_note(note, kind=kind)


def _inputs(classifier: QueryKind, state: State) -> Matrix:
    if classifier.features:
        return kind_features(state, classifier.features)
    if state.vector is None:
        raise StageUnavailable("the request has no usable query vector")
    return state.vector


def _probability(classifier: QueryKind, vector: Matrix) -> float:
    try:
        probability = float(classifier.probability_multi(vector.astype(np.float32)))
    except Exception as error:
        raise StageUnavailable.failed("the classifier", error) from error
    if not (math.isfinite(probability) and 0.0 <= probability <= 1.0):
        raise StageUnavailable(f"the classifier answered {probability}, which is no probability")
    return probability
