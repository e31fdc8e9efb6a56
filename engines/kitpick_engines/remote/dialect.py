"""The differences between OpenSearch and Elasticsearch: vector field, vector query, a few settings."""

from __future__ import annotations

from typing import Protocol

from kitpick_engines.contract import Vector
from kitpick_engines.remote.server import Json


class ServerDialect(Protocol):
    """The dialect of one kind of server."""

    search_pipelines: bool
    """Whether it has search pipelines, which may name the model of an index."""

    def vector_field(self, dimensions: int) -> Json:
        """Mapping of the vector field."""

    def vector_settings(self) -> Json:
        """Settings of an index that the vector field needs."""

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """The part of a search body that asks for the k of `shown` nearest to a unit vector."""
