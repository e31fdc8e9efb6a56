"""Where OpenSearch and Elasticsearch differ: the vector field, its query, and a few settings."""

from __future__ import annotations

from typing import Protocol

from toolrank_engines.contract import Vector
from toolrank_engines.remote.server import Json


class Dialect(Protocol):
    """What one kind of server says in its own way."""

    def vector_field(self, dimensions: int) -> Json:
        """Mapping of the vector field."""

    def vector_settings(self) -> Json:
        """Settings of an index that the vector field needs."""

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """The part of a search body that asks for the k of `shown` nearest to a unit vector."""
