"""The models of a service: loaded before the first request, each behind a queue of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Vector
from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.encoder import Encoder
from toolrank_models.manifest import Manifest
from toolrank_models.query_kind import QueryKindClassifier
from toolrank_models.runtime import load_cross_encoder, load_encoder, load_query_kind
from toolrank_models.settings import RuntimeSettings
from toolrank_rescorers.scoring import ScoreCache
from toolrank_rescorers.service.errors import Cancelled, Overloaded, Unready
from toolrank_rescorers.service.metrics import Metrics, QueueMetrics
from toolrank_rescorers.service.protocol import ModelInfo
from toolrank_rescorers.service.queue import ModelQueue, QueueLimits
from toolrank_rescorers.service.settings import ServiceSettings
from toolrank_rescorers.service.ticket import Ticket

Vectors = NDArray[np.float32]


class ServiceModels:
    """Encoder, cross-encoder and classifier of query kinds. Safe to use from several threads."""

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        """Loads the models that the settings name.

        Raises:
            ModelError: one of them is missing, damaged, or cannot run on the device asked for.
        """
        runtimes = [_runtime(settings, int(device)) for device in settings.devices.split(",")]
        limits = QueueLimits(settings.max_waiting_tokens)
        encoders = [load_encoder(settings.encoder, runtime) for runtime in runtimes]
        scorers = [load_cross_encoder(settings.cross_encoder, runtime) for runtime in runtimes]
        self.encoder, self.cross_encoder = encoders[0], scorers[0]
        self.query_kind: QueryKindClassifier | None = (
            load_query_kind(settings.query_kind) if settings.query_kind else None
        )
        self.cache = ScoreCache(settings.score_cache)
        self._vectors = _queue("encoder", encoders, metrics, limits)
        self._scores = _queue("cross_encoder", scorers, metrics, limits)
        self._warm_up(settings.warm_up_seconds)

    @property
    def queues(self) -> tuple[ModelQueue, ...]:
        """The queue of every model that has one."""
        return (self._vectors, self._scores)

    def scorer(self, ticket: Ticket) -> QueuedScorer:
        """The cross-encoder, on behalf of one request."""
        return QueuedScorer(self.cross_encoder, self._scores, ticket)

    def encode(self, texts: Sequence[str | Sequence[int]], ticket: Ticket) -> Vectors:
        """Unit vectors (n, d) of texts, or of token ids.

        Raises:
            Overloaded, DeadlinePassed, Cancelled, Unready, ModelError: see `ModelQueue.run`.
        """
        rows = [
            self.encoder.rows([text])[0] if isinstance(text, str) else self.encoder.row_of_ids(text)
            for text in texts
        ]
        return self._vectors.run(rows, ticket)

    def query_vector(self, query: str, ticket: Ticket) -> Vector:
        """Unit vector (d,) of a query; raises like `encode`."""
        vector: Vector = self.encode([query], ticket)[0]
        return vector

    def info(self) -> dict[str, ModelInfo]:
        """Every model by its role."""
        scale = self.cross_encoder.manifest.score_scale
        found = {
            "encoder": ModelInfo(self.encoder.identity, "cosine"),
            "cross_encoder": ModelInfo(self.cross_encoder.identity, scale),
        }
        if self.query_kind is not None:
            found["query_kind"] = ModelInfo(self.query_kind.identity, "probability")
        return found

    def close(self) -> None:
        """Finishes what waits, and ends the queues' threads."""
        for queue in self.queues:
            queue.close()

    def _warm_up(self, seconds: float) -> None:
        try:
            self._vectors.warm_up(self.encoder.manifest.max_tokens, seconds / 2)
            self._scores.warm_up(self.cross_encoder.manifest.max_tokens, seconds / 2)
        except Exception:
            self.close()
            raise


class QueuedScorer:
    """A cross-encoder behind its queue, for one request: what stages and dialects score with."""

    def __init__(self, model: CrossEncoder, queue: ModelQueue, ticket: Ticket) -> None:
        self._model = model
        self._queue = queue
        self._ticket = ticket

    @property
    def identity(self) -> str:
        """Name and digest of the model."""
        return self._model.identity

    @property
    def manifest(self) -> Manifest:
        """The model's thresholds, and what it has seen."""
        return self._model.manifest

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text, the same as without a queue.

        Raises:
            Overloaded, Cancelled, Unready: kept in the ticket, because they must fail the whole request.
            DeadlinePassed, ModelError: the order stands without scores.
        """
        try:
            return self._queue.run(self._model.rows(query, texts), self._ticket)
        except (Overloaded, Cancelled, Unready) as error:
            self._ticket.refusal = error
            raise

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated probabilities (n,)."""
        return self._model.probability(logits)


def _queue(
    name: str, sessions: Sequence[Encoder] | Sequence[CrossEncoder], metrics: Metrics, limits: QueueLimits
) -> ModelQueue:
    return ModelQueue(name, sessions, sessions[0].workers.count, QueueMetrics(metrics, name), limits)


def _runtime(settings: ServiceSettings, device: int) -> RuntimeSettings:
    return RuntimeSettings(
        provider=settings.provider,
        threads=settings.threads,
        cached_tokens=settings.cached_tokens,
        device=device,
        half=settings.half,
        engine_cache=settings.engine_cache,
    )
