"""The server side of the explain page: searches a catalog with the models of the service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.definition_tokens import measure_definitions
from kitpick.result import SearchResult
from kitpick.settings import Settings
from kitpick.ui.errors import (
    CatalogProblem,
    MarksProblem,
    NoMarks,
    NoPlaceForMarks,
    OpenToOthers,
    UnknownApi,
)
from kitpick.ui.figures import flow, groups, packing, penalty_path
from kitpick.ui.models import ServiceModelSource, Stopwatch, TimedEncoder
from kitpick.ui.protocol import (
    MAX_BUDGET,
    MAX_HITS,
    MAX_REQUEST,
    About,
    ExplainAnswer,
    ExplainCall,
    MarkAnswer,
    MarkCall,
    PenaltyPath,
    ProfileLine,
    ShownCall,
    ShownCandidate,
    ShownFlow,
    ShownHit,
    Spent,
)
from kitpick_engines.contract import Candidate, Filter
from kitpick_engines.errors import EngineError
from kitpick_engines.text import plain
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.judgements import Judgements, Mark
from kitpick_foundation.visible import is_blank
from kitpick_ingest.prose import clip
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_rescorers.profiles import Profile, shipped_profiles
from kitpick_rescorers.search import LocalRescorer, Search, SearchHit, SearchOutcome
from kitpick_rescorers.service.core import Service
from kitpick_rescorers.service.errors import Invalid
from kitpick_rescorers.service.origin import LOOPBACK
from kitpick_rescorers.service.ticket import Ticket

_DESCRIPTION = 240
"""Characters."""


class UiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the page."""

    catalog: str | None = None
    """URL; by default the one in the settings of catalogs."""
    marks: Path | None = None
    """File that marks go to; none are taken without one."""
    permitted: Filter = Filter()
    """The caller of a service without keys; with keys, each key names its caller."""


class Desk:
    """Answers the requests of the page. Safe to use from several threads."""

    def __init__(self, service: Service, settings: UiSettings) -> None:
        """Opens the catalog.

        Raises:
            UnknownEngine, EngineUnavailable: it cannot be opened.
            OpenToOthers: reachable from other machines, without keys.
            NoPlaceForMarks: the folder of the marks' file is missing.
        """
        if service.settings.host not in LOOPBACK and not service.settings.keys:
            raise OpenToOthers(service.settings.host)
        if settings.marks is not None and not settings.marks.parent.is_dir():
            raise NoPlaceForMarks(settings.marks)
        self._service = service
        self._settings = settings
        # The models of this process rank, whatever the settings of a catalog elsewhere say.
        own = Settings(rescorer="")
        self._catalog = Catalog.open(settings.catalog, settings=own)
        self._marks = None if settings.marks is None else Judgements(settings.marks)

    def about(self, call: None, ticket: Ticket) -> About:
        """Profiles and settings that the page offers.

        Raises:
            CatalogProblem: the catalog cannot be read, or is empty.
        """
        with _problems_of_the_catalog():
            self._catalog.live()
        names = sorted({*shipped_profiles(), self._service.default_profile.name})
        return About(
            profiles=tuple(ProfileLine(name, self._service.profile(name).description) for name in names),
            profile=self._service.default_profile.name,
            marking=self._marks is not None,
        )

    def explain(self, call: ExplainCall, ticket: Ticket) -> ExplainAnswer:
        """Searches, and explains every step.

        Raises:
            Invalid, InvalidRequest, NotFound: the request, or its profile, cannot be answered as asked.
            CatalogProblem: the catalog cannot be searched.
            Overloaded, DeadlinePassed, Cancelled: no model had time for it.
        """
        started = time.perf_counter()
        _check(call)
        profile = self._service.profile(call.profile)
        watch = Stopwatch()
        with _problems_of_the_catalog():
            outcome = self._way(ticket, watch).run(
                _checked_request(call.query), profile, call.k, self._permitted(ticket), call.budget
            )
        if ticket.refusal is not None:
            raise ticket.refusal
        answer = self._answer(call, profile, outcome)
        total = (time.perf_counter() - started) * 1e3
        return replace(answer, request_id=ticket.request_id, spent=Spent(total, watch.seconds * 1e3))

    def mark(self, call: MarkCall, ticket: Ticket) -> MarkAnswer:
        """Stores a judgement of an API for a request.

        Raises:
            NoMarks: nobody said where to.
            Invalid, UnknownApi: no request, or no API that this caller may see.
            CatalogProblem, MarksProblem: the catalog or the file cannot be used.
        """
        if self._marks is None:
            raise NoMarks
        query = _checked_request(call.query)
        with _problems_of_the_catalog():
            if not self._catalog.engine.fetch([call.id], self._permitted(ticket)):
                raise UnknownApi(call.id)
        with _problems_of_the_catalog():
            return MarkAnswer(call.verdict, self._marks.mark(query, call.id, call.verdict))

    def close(self) -> None:
        """Releases the catalog."""
        self._catalog.close()

    def _permitted(self, ticket: Ticket) -> Filter:
        if not self._service.settings.keys:
            return self._settings.permitted
        return Filter(tenant=ticket.bearer.tenant, principals=frozenset(ticket.bearer.principals))

    def _way(self, ticket: Ticket, watch: Stopwatch) -> Search:
        """A search with the models of the service, for one request."""
        models = ServiceModelSource(self._service, self._catalog.models, ticket, watch)
        encoder = TimedEncoder(self._service.models.queries(ticket), watch)
        votes = self._catalog.intents.votes
        return Search(self._catalog.engine, encoder, LocalRescorer(models), measure_definitions, votes)

    def _answer(self, call: ExplainCall, profile: Profile, outcome: SearchOutcome) -> ExplainAnswer:
        rescored = outcome.rescored
        known = {item.id: item for item in (*outcome.seen.candidates, *outcome.seen.fetched)}
        shown = list(known.values())
        place = {key: number for number, key in enumerate(known)}
        stages = flow(outcome, place)
        first = stages[min(1, len(stages) - 1)]
        path, no_path = _path(outcome, [(number, shown[number]) for number in first.order], profile)
        ranked = next(stage for stage in reversed(stages) if stage.stage != "pack")
        result = SearchResult.of(profile.name, outcome)
        return ExplainAnswer(
            request_id="",
            profile=profile.name,
            hits=tuple(_hit(hit, place[hit.id]) for hit in outcome.hits),
            candidates=tuple(ShownCandidate(item.id, item.tool, item.api) for item in shown),
            plan=_plan(result, place),
            stages=stages,
            kind=rescored.query_kind,
            abstained=rescored.abstained_because if rescored.abstained else "",
            degraded=outcome.degraded,
            groups=groups([(number, shown[number]) for number in ranked.order], call.similarity),
            path=path,
            no_path=no_path,
            packing=None if call.budget is None else packing(result, call.budget, place),
            marks=self._marks_of(call.query, place),
            spent=Spent(0.0, 0.0),
        )

    def _marks_of(self, query: str, place: dict[str, int]) -> dict[str, Mark]:
        """Marks of the candidates only, because the caller may not see other APIs."""
        if self._marks is None:
            return {}
        with _problems_of_the_catalog():
            marked = self._marks.of(query.strip())
        return {key: verdict for key, verdict in marked.items() if key in place}


def _plan(result: SearchResult, place: dict[str, int]) -> tuple[ShownCall, ...]:
    """The plan of an answer, where something flows in it."""
    calls = tuple(
        ShownCall(
            place[call.id],
            tuple(ShownFlow(taken.input, place[taken.giver], taken.confidence) for taken in call.takes),
        )
        for call in result.plan
    )
    return calls if any(call.takes for call in calls) else ()


def _check(call: ExplainCall) -> None:
    _checked_request(call.query)
    if not 1 <= call.k <= MAX_HITS:
        raise Invalid(f"{call.k:,} hits: ask for 1 to {MAX_HITS:,}")
    if call.budget is not None and not 0 <= call.budget <= MAX_BUDGET:
        raise Invalid(f"a budget of {call.budget:,} tokens: name 0 to {MAX_BUDGET:,}, or none")
    if not 0.0 <= call.similarity <= 1.0:
        raise Invalid(f"similarity {call.similarity:g}: name a cosine from 0 to 1")


def _checked_request(query: str) -> str:
    request = query.strip()
    if is_blank(request):
        raise Invalid("the request is empty: type what is to be done")
    if len(request) > MAX_REQUEST:
        raise Invalid(f"{len(request):,} characters of request: shorten it to {MAX_REQUEST:,}")
    return request


def _path(
    outcome: SearchOutcome, head: list[tuple[int, Candidate]], profile: Profile
) -> tuple[PenaltyPath | None, str]:
    """The decoding path, or why there is none."""
    if outcome.seen.vector is None:
        return None, f"profile {profile.name} made no vector of the request"
    found = penalty_path(head, outcome.seen.vector, profile)
    return found, "" if found else "no candidate has a vector of the request's length"


def _hit(hit: SearchHit, candidate: int) -> ShownHit:
    return ShownHit(
        id=hit.id,
        candidate=candidate,
        rank=hit.rank,
        score=hit.score,
        probability=hit.probability,
        reasons=hit.reasons,
        description=clip(plain(hit.document.description), _DESCRIPTION),
        effect=hit.document.effect.value,
        deprecated=hit.document.deprecated,
    )


@contextmanager
def _problems_of_the_catalog() -> Iterator[None]:
    """A context that turns errors of an engine or of the marks into errors of the page."""
    try:
        yield
    except EvaluationError as error:
        raise MarksProblem(str(error)) from error
    except (EngineError, EmptyCatalog) as error:
        raise CatalogProblem(str(error)) from error
