"""The models of a service: loaded once, before the first request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Vector
from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.encoder import Encoder
from toolrank_models.query_kind import QueryKindClassifier
from toolrank_models.runtime import load_cross_encoder, load_encoder, load_query_kind
from toolrank_models.settings import RuntimeSettings
from toolrank_rescorers.scoring import ScoreCache
from toolrank_rescorers.service.protocol import ModelInfo
from toolrank_rescorers.service.settings import ServiceSettings
from toolrank_rescorers.service.ticket import Ticket

Vectors = NDArray[np.float32]


class ServiceModels:
    """Encoder, cross-encoder and classifier of query kinds. Safe to use from several threads."""

    def __init__(
        self, encoder: Encoder, cross_encoder: CrossEncoder, query_kind: QueryKindClassifier | None
    ) -> None:
        self.encoder = encoder
        self.cross_encoder = cross_encoder
        self.query_kind = query_kind
        self.cache = ScoreCache()

    @classmethod
    def load(cls, settings: ServiceSettings) -> ServiceModels:
        """The models that the settings name.

        Raises:
            ModelError: one of them is missing, damaged, or cannot run on the device asked for.
        """
        runtime = RuntimeSettings(provider=settings.provider, threads=settings.threads)
        return cls(
            load_encoder(settings.encoder, runtime),
            load_cross_encoder(settings.cross_encoder, runtime),
            load_query_kind(settings.query_kind) if settings.query_kind else None,
        )

    def scorer(self, ticket: Ticket) -> CrossEncoder:
        """The cross-encoder, for one request."""
        ticket.check()
        return self.cross_encoder

    def encode(self, texts: Sequence[str], ticket: Ticket) -> Vectors:
        """Unit vectors (n, d)."""
        ticket.check()
        return self.encoder.encode(texts)

    def query_vector(self, query: str, ticket: Ticket) -> Vector:
        """Unit vector (d,) of a query."""
        vector: Vector = self.encode([query], ticket)[0]
        return vector

    def info(self) -> dict[str, ModelInfo]:
        """Every model by its role."""
        found = {
            "encoder": ModelInfo(self.encoder.identity, "cosine"),
            "cross_encoder": ModelInfo(self.cross_encoder.identity, self.cross_encoder.manifest.score_scale),
        }
        if self.query_kind is not None:
            found["query_kind"] = ModelInfo(self.query_kind.identity, "probability")
        return found

    def close(self) -> None:
        """Nothing runs behind a model yet."""
