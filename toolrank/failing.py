"""What a catalog knows about APIs that were missed: who may see them, what is deprecated, what is alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolrank.evaluating import Judged, Plan
from toolrank_engines.contract import Vector
from toolrank_evaluation.failures import Circumstances, FailureCollector

ALIKE = 0.95
"""Cosine of the document vectors above which two APIs count as near-duplicates."""
HITS = 5


def failure_collector(judged: Judged, plan: Plan) -> FailureCollector:
    """An observer of an evaluation that finds the cause of every miss among the first `HITS`."""
    k = min(HITS, max(plan.sampling.cutoffs))
    return FailureCollector(k, judged.facets.kind, _circumstances(judged, plan))


def _circumstances(judged: Judged, plan: Plan) -> Circumstances:
    engine = judged.catalog.engine
    relevant = sorted({api for query in judged.queries for api in query.relevant})
    visible = {document.id for document in engine.fetch(relevant, plan.permitted)}
    vectors, deprecated = _indexed(judged)

    def alike(one: str, other: str) -> bool:
        return (
            float(np.dot(vectors[one], vectors[other])) > ALIKE if {one, other} <= vectors.keys() else False
        )

    return Circumstances(visible.__contains__, frozenset(deprecated), alike)


def _indexed(judged: Judged) -> tuple[dict[str, Vector], Sequence[str]]:
    """Unit vectors by id, and the ids of deprecated APIs."""
    live = judged.catalog.engine.live()
    assert live is not None, "judged requests are asked of a catalog that holds something"
    vectors: dict[str, Vector] = {}
    deprecated = []
    for item in judged.catalog.engine.documents(live[0]):
        vectors[item.document.id] = item.vector
        if item.document.deprecated:
            deprecated.append(item.document.id)
    return vectors, deprecated
