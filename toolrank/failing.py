"""What a catalog knows about APIs that were missed: who may see them, what is deprecated, what is alike."""

from __future__ import annotations

import numpy as np

from toolrank.evaluating import Judged, Plan
from toolrank_engines.contract import IndexedDocument
from toolrank_evaluation.failures import Circumstances, FailureCollector
from toolrank_evaluation.health.duplicates import WordWeights, say_the_same

HITS = 5


def failure_collector(judged: Judged, plan: Plan) -> FailureCollector:
    """An observer of an evaluation that finds the cause of every miss among the first `HITS`."""
    k = min(HITS, max(plan.sampling.cutoffs))
    return FailureCollector(k, judged.facets.kind, _circumstances(judged, plan))


def _circumstances(judged: Judged, plan: Plan) -> Circumstances:
    engine = judged.catalog.engine
    relevant = sorted({api for query in judged.queries for api in query.relevant})
    visible = {document.id for document in engine.fetch(relevant, plan.permitted)}
    items = _indexed(judged)
    weights = WordWeights(item.document for item in items.values())

    def alike(one: str, other: str) -> bool:
        if not {one, other} <= items.keys():
            return False
        pair = items[one], items[other]
        words = weights.vectors([item.document for item in pair])
        return bool(say_the_same(float(np.dot(*words)), float(np.dot(pair[0].vector, pair[1].vector))))

    deprecated = frozenset(api for api, item in items.items() if item.document.deprecated)
    return Circumstances(visible.__contains__, deprecated, alike)


def _indexed(judged: Judged) -> dict[str, IndexedDocument]:
    live = judged.catalog.engine.live()
    assert live is not None, "judged requests are asked of a catalog that holds something"
    return {item.document.id: item for item in judged.catalog.engine.documents(live[0])}
