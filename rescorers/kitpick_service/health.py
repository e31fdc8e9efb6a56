"""Health checks: is the process alive, and is it ready for requests?"""

from __future__ import annotations

import time
from typing import Literal

import msgspec
import numpy as np

from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.dialects.native import NATIVE
from kitpick_service.errors import Unready
from kitpick_service.models import ServiceModels
from kitpick_service.protocol import ModelInfo
from kitpick_service.ticket import Ticket

_FRESH_SECONDS = 0.2
_QUERY, _TEXT = "what is the weather", "weather: current. The weather of a city."


class Alive(msgspec.Struct, frozen=True):
    """The event loop turns and a thread could be had."""

    status: Literal["alive"] = "alive"


class Ready(msgspec.Struct, frozen=True):
    """Every model has just answered."""

    models: dict[str, ModelInfo]
    status: Literal["ready"] = "ready"
    search_ms: float = 0.0
    """What a search by the service's own profile takes here, alone: by the warm-up, and then by searches that
    were answered. 0 where nothing was measured."""


def answer_live(service: Service, call: None, ticket: Ticket) -> Alive:
    """Always the same: whoever gets it knows that the process serves."""
    return Alive()


def answer_ready(service: Service, call: None, ticket: Ticket) -> Ready:
    """One forward pass of every model, through the queue that requests take, and before all of them.

    An overloaded copy is ready: were it taken out of service, its share would overload the next one. Nobody
    needs a key for this, so probes that come close upon each other share one pass.

    Raises:
        Unready: draining, or a model failed.
    """
    if service.gate.draining:
        raise Unready("this copy is about to stop")
    if not service.proving.acquire(timeout=max(0.0, ticket.left)):
        raise Unready("a model does not answer: another probe still waits for it")
    try:
        if time.perf_counter() - service.proved > _FRESH_SECONDS:
            for served in filter(None, (service.models, service.former)):
                _prove(served, ticket)
            service.proved = time.perf_counter()
    finally:
        service.proving.release()
    former = {} if service.former is None else service.former.info()
    models = service.models.info() | {f"former_{role}": model for role, model in former.items()}
    return Ready(models, search_ms=round(1e3 * service.search_seconds, 1))


def _prove(models: ServiceModels, ticket: Ticket) -> None:
    ticket.probe = True
    try:
        vectors = models.encode([_QUERY], ticket)
        logits = models.scorer(ticket).score(_QUERY, [_TEXT])
    except Exception as error:
        raise Unready(f"a model does not answer: {type(error).__name__}: {error}") from error
    if not (np.isfinite(vectors).all() and np.isfinite(logits).all()):
        raise Unready("a model answered NaN or infinity")


ENDPOINTS = (
    Endpoint("/health/live", "Is the process alive?", NATIVE, None, Alive, answer_live, keyed=False),
    Endpoint(
        "/health/ready",
        "Would a request be answered? Runs every model once",
        NATIVE,
        None,
        Ready,
        answer_ready,
        keyed=False,
    ),
)
