"""Classification of the query: does it need one tool or several?

A classifier reads the query's vector. Several APIs of one tool are one tool.
"""

from __future__ import annotations

import math

import numpy as np

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models, QueryKind
from kitpick_rescorers.stages.base import Stage
from kitpick_rescorers.state import Matrix, QueryKindEstimate, State


class Classify(Stage, frozen=True, tag="classify"):
    """Sets the query kind, which `when` of later stages reads."""

    requires = frozenset({"vector", "query_kind"})

    def apply(self, state: State, models: Models) -> State:
        """The same list, with the kind of the query."""
        if models.query_kind is None:
            raise StageUnavailable("no classifier of query kinds is loaded")
        if state.vector is None:
            raise StageUnavailable("the request has no usable query vector")
        probability = _probability(models.query_kind, state.vector)
        threshold = models.query_kind.threshold
        kind = QueryKindEstimate("multi" if probability >= threshold else "single", probability)
        note = f"{kind.kind}-tool: probability of several {probability:.2f}, threshold {threshold:.2f}"
        return state.with_note(note, kind=kind)


def _probability(classifier: QueryKind, vector: Matrix) -> float:
    try:
        probability = float(classifier.probability_multi(vector.astype(np.float32)))
    except Exception as error:
        raise StageUnavailable.failed("the classifier", error) from error
    if not (math.isfinite(probability) and 0.0 <= probability <= 1.0):
        raise StageUnavailable(f"the classifier answered {probability}, which is no probability")
    return probability
