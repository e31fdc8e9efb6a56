"""The service's own models behind a catalog: one set in memory, one queue in front of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from toolrank.model_set import ModelSet
from toolrank_engines.contract import Vector
from toolrank_models.encoder import Encoder
from toolrank_rescorers.models import Models
from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.models import QueuedScorer
from toolrank_rescorers.service.ticket import Ticket
from toolrank_rescorers.state import Degradation

_OWN = frozenset({"scorer", "query_kind"})


class ServiceModelSet(ModelSet):
    """What a search runs with, on behalf of one request. Knows how long its models took, waiting included."""

    def __init__(self, others: ModelSet, service: Service, ticket: Ticket) -> None:
        """`others` has what a service lacks: the language model. Nothing is loaded here."""
        self._others = others
        self._service = service
        self._ticket = ticket
        self.seconds = 0.0

    @property
    def encoder(self) -> Encoder:
        """The service's."""
        return self._service.models.encoder

    def query_vector(self, request: str) -> Vector:
        """Unit vector of a request, float32 (d,), in its turn.

        Raises:
            Overloaded, DeadlinePassed, Cancelled, Unready, ModelError: see `ServiceModels.encode`.
        """
        return self._timed(lambda: self._service.models.query_vector(request, self._ticket))

    def for_needs(self, needs: frozenset[str]) -> tuple[Models, tuple[Degradation, ...]]:
        """As `ModelSet.for_needs`; with the cache that all requests of the service share."""
        models, missing = self._others.for_needs(needs - _OWN)
        own = self._service.models
        scorer = TimedScorer(own.scorer(self._ticket), self._timed) if "scorer" in needs else None
        kind = own.query_kind if "query_kind" in needs else None
        return replace(models, scorer=scorer, query_kind=kind, cache=own.cache), missing

    def _timed(self, work: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        started = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds += time.perf_counter() - started


class TimedScorer:
    """A cross-encoder whose time is counted."""

    def __init__(
        self, scorer: QueuedScorer, timed: Callable[[Callable[[], NDArray[np.float32]]], NDArray[np.float32]]
    ) -> None:
        self.identity = scorer.identity
        self.manifest = scorer.manifest
        self.probability = scorer.probability
        self._scorer = scorer
        self._timed = timed

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text; raises as `QueuedScorer.score`."""
        return self._timed(lambda: self._scorer.score(query, texts))
