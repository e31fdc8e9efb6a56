"""A catalog behind the service: the part that its explain page and its tools over HTTP share.

Its searches run with the models of the service, their memory and their queues. Its endpoints answer no
browser that asks for another site.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from kitpick_engines.contract import Vector
from kitpick_foundation.errors import InvalidSetting
from kitpick_rescorers.contracts import ModelSource, QueryEncoder
from kitpick_rescorers.models import Models
from kitpick_rescorers.reading.request_reading import BoundedReader, LanguageReader
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation
from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.dialects.native import NATIVE
from kitpick_service.errors import Forbidden, Unready
from kitpick_service.http import failed, handler, open_ticket
from kitpick_service.models import QueuedScorer
from kitpick_service.origin import LOOPBACK, foreign_reason
from kitpick_service.ticket import Ticket

Made = TypeVar("Made")
Handler = Callable[[Request], Awaitable[Response]]
_ANSWER_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_OWN: frozenset[Requirement] = frozenset({"scorer", "query_kind", "ranker"})


class CatalogProblem(Unready):
    """The catalog cannot be searched."""


class ForeignOrigin(Forbidden):
    """A request that a browser sent for another site."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: this page answers to itself alone; open it under the address it was given")


class OpenToOthers(InvalidSetting):
    """A page, or a catalog, that others could reach, without keys."""

    def __init__(self, host: str, option: str = "--ui") -> None:
        super().__init__(
            f"{option} on --host {host}: others could reach the catalog: name --keys, or stay on 127.0.0.1"
        )


def guarded(service: Service, endpoint: Endpoint, threads: anyio.CapacityLimiter) -> Handler:
    """The handler of an endpoint, for requests that no browser sends for another site."""
    answer = handler(service, endpoint, threads)

    async def checked(request: Request) -> Response:
        open_on_loopback = not service.settings.keys and service.settings.host in LOOPBACK
        if reason := foreign_reason(request.headers, open_on_loopback):
            return failed(NATIVE, ForeignOrigin(reason), open_ticket(request, 1.0))
        response = await answer(request)
        response.headers.update(_ANSWER_HEADERS)
        return response

    return checked


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

    def reads_language(self, language: str) -> bool:
        """What the encoder says; no of one that does not know."""
        return isinstance(self._encoder, LanguageReader) and self._encoder.reads_language(language)

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
        """The models that stages ask for, and what is missing; with the scores that this key had before."""
        models, missing = self._others.for_needs(needs - _OWN)
        own, lacking = self._service.models.for_needs(needs & _OWN, self._ticket)
        scorer = TimedScorer(self._service.models.scorer(self._ticket), self._watch)
        found = replace(
            models,
            scorer=None if own.scorer is None else scorer,
            query_kind=own.query_kind,
            cache=own.cache,
            ranker=own.ranker,
        )
        return found, (*missing, *lacking)
