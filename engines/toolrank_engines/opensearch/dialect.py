"""The vector field of the k-NN plugin. Lucene's HNSW graph, the usual one, needs no native library."""

from __future__ import annotations

from typing import Literal

from toolrank_engines.contract import Vector
from toolrank_engines.remote.queries import BEST_FIRST
from toolrank_engines.remote.server import Json

_GRAPH = {"m": 16, "ef_construction": 128}


class OpenSearchDialect:
    """What OpenSearch says in its own way."""

    def __init__(self, vectors: Literal["hnsw", "exact"], graph: Literal["lucene", "faiss"]) -> None:
        self._exact = vectors == "exact"
        self._graph = graph

    def vector_field(self, dimensions: int) -> Json:
        """A `knn_vector` compared by inner product, which takes residuals and zero vectors too."""
        method = {"name": "hnsw", "engine": self._graph, "space_type": "innerproduct", "parameters": _GRAPH}
        return {"type": "knn_vector", "dimension": dimensions, "method": method}

    def vector_settings(self) -> Json:
        """`knn`, and no vectors read back into the source: the field is left out of it."""
        return {"knn": True}

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """By the graph, with the filter inside; or by a script over everything that is shown."""
        values = vector.tolist()
        if self._exact:
            script = {
                "lang": "knn",
                "source": "knn_score",
                "params": {"field": "vector", "query_value": values, "space_type": "innerproduct"},
            }
            query: Json = {"script_score": {"query": shown, "script": script}}
        else:
            query = {"knn": {"vector": {"vector": values, "k": k, "filter": shown}}}
        return {"query": query, "sort": BEST_FIRST}
