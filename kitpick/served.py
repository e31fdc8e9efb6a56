"""A catalog behind the service: the part that its explain page and its tools over HTTP share.

Its searches run with the models of the service, their memory and their queues. Its endpoints answer no
browser that asks for another site.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kitpick.catalog import Catalog
from kitpick.definition_tokens import measure_definitions
from kitpick.places import places_of
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineError
from kitpick_foundation.errors import InvalidSetting
from kitpick_rescorers.contracts import ModelSource
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_rescorers.models import Models
from kitpick_rescorers.search import LocalRescorer, Search
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation
from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.dialects.native import NATIVE
from kitpick_service.errors import Forbidden, Unready
from kitpick_service.http import failed, handler, open_ticket
from kitpick_service.origin import LOOPBACK, foreign_reason
from kitpick_service.ticket import Ticket

_LOG = logging.getLogger("kitpick.service")
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

    def __init__(self, host: str, option: str) -> None:
        super().__init__(
            f"{option} on --host {host}: others could reach the catalog: name --keys, or stay on 127.0.0.1"
        )


def endpoint(
    path: str, summary: str, types: tuple[Any, Any], answer: Callable[[Any, Ticket], object]
) -> Endpoint:
    """What is asked at a path of a catalog: types of call and reply, and who answers."""
    return Endpoint(path, summary, NATIVE, *types, lambda service, call, ticket: answer(call, ticket))


def guarded_routes(
    service: Service, endpoints: Iterable[Endpoint], threads: anyio.CapacityLimiter
) -> Sequence[Route]:
    """Routes of endpoints, for requests that no browser sends for another site."""
    return [Route(each.path, _guarded(service, each, threads), methods=[each.method]) for each in endpoints]


def _guarded(service: Service, endpoint: Endpoint, threads: anyio.CapacityLimiter) -> Handler:
    answer = handler(service, endpoint, threads)

    async def checked(request: Request) -> Response:
        open_on_loopback = not service.settings.keys and service.settings.host in LOOPBACK
        if reason := foreign_reason(request.headers, open_on_loopback):
            return failed(NATIVE, ForeignOrigin(reason), open_ticket(request, 1.0))
        response = await answer(request)
        response.headers.update(_ANSWER_HEADERS)
        return response

    return checked


def require_keys(service: Service, option: str) -> None:
    """Refuses to show a catalog to other machines without keys.

    Raises:
        OpenToOthers: it could be reached; `option` shows it.
    """
    if service.settings.host not in LOOPBACK and not service.settings.keys:
        raise OpenToOthers(service.settings.host, option)


class ServedCatalog:
    """A catalog for the callers of a service. Safe to use from several threads."""

    def __init__(
        self, service: Service, url: str | None, permitted: Filter, files: Iterable[Path] = ()
    ) -> None:
        """Opens the catalog, by default that of the settings.

        `permitted` is the caller of a service without keys, `files` are more that callers are not told of.
        The service has the models, whatever the settings of a catalog elsewhere say.

        Raises:
            UnknownEngine, EngineUnavailable: it cannot be opened.
        """
        self.service = service
        self.catalog = Catalog.open(url, settings=Settings(rescorer=""))
        self.places = places_of(self.catalog, files)
        self._permitted = permitted

    def permitted(self, ticket: Ticket) -> Filter:
        """What the caller may see."""
        if not self.service.settings.keys:
            return self._permitted
        return Filter(tenant=ticket.bearer.tenant, principals=frozenset(ticket.bearer.principals))

    def way(self, ticket: Ticket) -> Search:
        """A search with the models of the service, for one request."""
        models = ServiceModelSource(self.service, self.catalog.models, ticket)
        rescorer, votes = LocalRescorer(models, ticket.working), self.catalog.intents.votes
        encoder = self.service.models.queries(ticket)
        return Search(self.catalog.engine, encoder, rescorer, measure_definitions, votes, rescorer.in_english)

    @contextmanager
    def problems(self) -> Iterator[None]:
        """A context that turns errors of the catalog into errors of the service, which name no folder."""
        try:
            yield
        except (EngineError, EmptyCatalog) as error:
            _LOG.warning("catalog: %s", error)
            raise CatalogProblem(self.places.hidden(str(error))) from error


class ServiceModelSource:
    """The models of one request: those of the service, and others that it lacks."""

    def __init__(self, service: Service, others: ModelSource, ticket: Ticket) -> None:
        """`others` has the language model. Nothing is loaded here."""
        self._service = service
        self._others = others
        self._ticket = ticket

    def for_needs(self, needs: frozenset[Requirement]) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages ask for, and what is missing; with the scores that this key had before."""
        models, missing = self._others.for_needs(needs - _OWN)
        own, lacking = self._service.models.for_needs(needs & _OWN, self._ticket)
        return replace(own, llm=models.llm), (*missing, *lacking)
