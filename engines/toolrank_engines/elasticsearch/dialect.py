"""The vector field of Elasticsearch, without quantisation: what is chosen is scored exactly anyway."""

from __future__ import annotations

from typing import Literal

from toolrank_engines.contract import Vector
from toolrank_engines.remote.queries import BEST_FIRST, MAX_WINDOW
from toolrank_engines.remote.server import Json

_GRAPH = {"type": "hnsw", "m": 16, "ef_construction": 128}


class ElasticsearchDialect:
    """What Elasticsearch says in its own way. `exact` decides how a new index is built."""

    def __init__(self, vectors: Literal["hnsw", "exact"]) -> None:
        self._options: Json = {"type": "flat"} if vectors == "exact" else _GRAPH

    def vector_field(self, dimensions: int) -> Json:
        """A `dense_vector` compared by inner product, which takes residuals and zero vectors too."""
        return {
            "type": "dense_vector",
            "dims": dimensions,
            "index": True,
            "similarity": "max_inner_product",
            "index_options": self._options,
        }

    def vector_settings(self) -> Json:
        """None are needed."""
        return {}

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """By the index, with the filter inside."""
        considered = min(2 * k, MAX_WINDOW)
        knn = {
            "field": "vector",
            "query_vector": vector.tolist(),
            "k": k,
            "num_candidates": considered,
            "filter": shown,
        }
        return {"knn": knn, "sort": BEST_FIRST}
