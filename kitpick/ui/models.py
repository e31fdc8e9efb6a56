"""The models of the service as the models of a search: the page shares their memory and their queues."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_engines.contract import Vector
from kitpick_rescorers.contracts import ModelSource, QueryEncoder
from kitpick_rescorers.models import Models
from kitpick_rescorers.reading.request_reading import BoundedReader
from kitpick_rescorers.service.core import Service
from kitpick_rescorers.service.models import QueuedScorer
from kitpick_rescorers.service.ticket import Ticket
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation

Made = TypeVar("Made")
_OWN: frozenset[Requirement] = frozenset({"scorer", "query_kind", "ranker"})


class Stopwatch:
    """Seconds of models, waiting included."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def time(self, work: Callable[[], Made]) -> Made:
        """Runs `work` and adds its time, also if it fails."""
        started = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds += time.perf_counter() - started


class TimedEncoder:
    """A `QueryEncoder` whose time is counted."""

    def __init__(self, encoder: QueryEncoder, watch: Stopwatch) -> None:
        self._encoder = encoder
        self._watch = watch

    @property
    def identity(self) -> str:
        """Identity of the encoder."""
        return self._encoder.identity

    @property
    def unmatched_below(self) -> float | None:
        """What the encoder's manifest says."""
        return self._encoder.unmatched_below

    def knows(self, word: str) -> bool:
        """What the encoder says."""
        return self._encoder.knows(word)

    def reads_at_most(self, text: str) -> int:
        """What the encoder says; 0 of one that does not know."""
        return self._encoder.reads_at_most(text) if isinstance(self._encoder, BoundedReader) else 0

    def vectors(self, texts: tuple[str, ...]) -> Sequence[Vector]:
        """The encoder's vectors of the texts; the time is measured."""
        return self._watch.time(lambda: self._encoder.vectors(texts))


class TimedScorer:
    """A cross-encoder whose time is counted."""

    def __init__(self, scorer: QueuedScorer, watch: Stopwatch) -> None:
        self.identity = scorer.identity
        self.manifest = scorer.manifest
        self.probability = scorer.probability
        self.reads_at_most = scorer.reads_at_most
        self.request_read = scorer.request_read
        self._scorer = scorer
        self._watch = watch

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text; raises as `QueuedScorer.score`."""
        return self._watch.time(lambda: self._scorer.score(query, texts))


class ServiceModelSource:
    """The models of one request: those of the service, and others that it lacks."""

    def __init__(self, service: Service, others: ModelSource, ticket: Ticket, watch: Stopwatch) -> None:
        """`others` has the language model. Nothing is loaded here."""
        self._service = service
        self._others = others
        self._ticket = ticket
        self._watch = watch

    def for_needs(self, needs: frozenset[Requirement]) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages ask for, and what is missing; with the score cache of all requests."""
        models, missing = self._others.for_needs(needs - _OWN)
        own = self._service.models
        scorer = TimedScorer(own.scorer(self._ticket), self._watch) if "scorer" in needs else None
        kind = own.query_kind if "query_kind" in needs else None
        ranker = own.ranker if "ranker" in needs else None
        return replace(models, scorer=scorer, query_kind=kind, cache=own.cache, ranker=ranker), missing
