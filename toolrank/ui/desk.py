"""The page's side of the server: searches a catalog with the service's models, and tells all about it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from msgspec.structs import replace

from toolrank.catalog import Catalog
from toolrank.errors import ToolrankError
from toolrank.result import SearchHit, SearchResult
from toolrank.settings import Settings
from toolrank.ui.errors import (
    CatalogProblem,
    MarksProblem,
    NoMarks,
    NoPlaceForMarks,
    OpenToOthers,
    UnknownApi,
)
from toolrank.ui.flow import flow, ids_in_sight
from toolrank.ui.groups import groups
from toolrank.ui.models import ServiceModelSet
from toolrank.ui.packed import packing
from toolrank.ui.penalty_path import penalty_path
from toolrank.ui.protocol import (
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
    ShownCandidate,
    ShownHit,
    Spent,
)
from toolrank.ui.recording import RecordingEngine
from toolrank.ui.settings import LOOPBACK, UiSettings
from toolrank_engines.contract import Candidate, Engine, Filter
from toolrank_engines.errors import EngineError
from toolrank_engines.text import plain
from toolrank_evaluation.errors import EvaluationError
from toolrank_evaluation.judgements import Judgements, Verdict
from toolrank_ingest.prose import clip
from toolrank_rescorers.profiles import Profile, shipped_profiles
from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.errors import Invalid
from toolrank_rescorers.service.ticket import Ticket

_DESCRIPTION = 240
"""Characters."""


class Desk:
    """Answers the page. Safe to use from several threads."""

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
        # The models of this process rank, whatever a catalog elsewhere is told.
        own = Settings().model_copy(update={"rescorer": ""})
        self._catalog = Catalog.open(settings.catalog, settings=own)
        self._marks = None if settings.marks is None else Judgements(settings.marks)

    def about(self, call: None, ticket: Ticket) -> About:
        """What can be asked.

        Raises:
            CatalogProblem: the catalog cannot be read, or is empty.
        """
        with _told():
            self._catalog.live()
        names = sorted({*shipped_profiles(), self._service.default_profile.name})
        return About(
            profiles=tuple(ProfileLine(name, self._service.profile(name).description) for name in names),
            profile=self._service.default_profile.name,
            marking=self._marks is not None,
        )

    def explain(self, call: ExplainCall, ticket: Ticket) -> ExplainAnswer:
        """Searches, and tells what happened.

        Raises:
            Invalid, InvalidRequest, NotFound: the request, or its profile, cannot be answered as asked.
            CatalogProblem: the catalog cannot be searched.
            Overloaded, DeadlinePassed, Cancelled: no model had time for it.
        """
        started = time.perf_counter()
        _check(call)
        profile = self._service.profile(call.profile)
        recorded = RecordingEngine(self._catalog.engine)
        models = ServiceModelSet(self._catalog.models, self._service, ticket)
        with _told():
            result = self._search(recorded, models, call, profile, self._permitted(ticket))
            if ticket.refusal is not None:
                raise ticket.refusal
            shown = self._shown(recorded, result, self._permitted(ticket))
        answer = self._answer(call, profile, recorded, result, shown)
        total = (time.perf_counter() - started) * 1e3
        return replace(answer, request_id=ticket.request_id, spent=Spent(total, models.seconds * 1e3))

    def mark(self, call: MarkCall, ticket: Ticket) -> MarkAnswer:
        """Remembers what somebody thinks of an API for a request.

        Raises:
            NoMarks: nobody said where to.
            Invalid, UnknownApi: no request, or no API that this caller may see.
            CatalogProblem, MarksProblem: the catalog or the file cannot be used.
        """
        if self._marks is None:
            raise NoMarks
        query = _checked_request(call.query)
        with _told():
            if not self._catalog.engine.fetch([call.id], self._permitted(ticket)):
                raise UnknownApi(call.id)
        with _told():
            return MarkAnswer(call.verdict, self._marks.mark(query, call.id, call.verdict))

    def close(self) -> None:
        """Releases the catalog."""
        self._catalog.close()

    def _permitted(self, ticket: Ticket) -> Filter:
        if not self._service.settings.keys:
            return self._settings.permitted
        return Filter(tenant=ticket.bearer.tenant, principals=frozenset(ticket.bearer.principals))

    def _search(
        self,
        recorded: RecordingEngine,
        models: ServiceModelSet,
        call: ExplainCall,
        profile: Profile,
        permitted: Filter,
    ) -> SearchResult:
        view = Catalog(cast("Engine", recorded), self._catalog.settings)
        view.models, view.intents = models, self._catalog.intents
        return view.search(
            _checked_request(call.query), call.k, filter=permitted, profile=profile, budget=call.budget
        )

    def _shown(
        self, recorded: RecordingEngine, result: SearchResult, permitted: Filter
    ) -> tuple[ShownCandidate, ...]:
        """Everything in sight; what only sample requests brought is looked up."""
        ids = ids_in_sight(recorded, result.trace)
        names = {key: (item.tool, item.api) for key, item in recorded.known.items()}
        others = [key for key in ids if key not in names]
        if others:
            found = self._catalog.engine.fetch(others, permitted)
            names |= {document.id: (document.tool, document.api) for document in found}
        return tuple(ShownCandidate(key, *names.get(key, ("", key))) for key in ids)

    def _answer(
        self,
        call: ExplainCall,
        profile: Profile,
        recorded: RecordingEngine,
        result: SearchResult,
        shown: tuple[ShownCandidate, ...],
    ) -> ExplainAnswer:
        place = {item.id: number for number, item in enumerate(shown)}
        stages = flow(recorded, result.trace, place, result.timings["first_stage"])
        path, no_path = self._path(recorded, stages[min(1, len(stages) - 1)].order, shown, profile)
        ranked = next(stage for stage in reversed(stages) if stage.stage != "pack")
        return ExplainAnswer(
            request_id="",
            profile=result.profile,
            hits=tuple(_hit(hit, place[hit.document.id]) for hit in result.hits),
            candidates=shown,
            stages=stages,
            kind=result.query_kind,
            abstained=result.abstained_because if result.abstained else "",
            degraded=result.degraded,
            groups=groups(_known(recorded, shown, ranked.order), call.similarity),
            path=path,
            no_path=no_path,
            packing=None if call.budget is None else packing(result, call.budget, place),
            marks=self._marks_of(call.query, place),
            spent=Spent(0.0, 0.0),
        )

    def _path(
        self,
        recorded: RecordingEngine,
        order: tuple[int, ...],
        shown: tuple[ShownCandidate, ...],
        profile: Profile,
    ) -> tuple[PenaltyPath | None, str]:
        if recorded.vector is None:
            return None, f"profile {profile.name} made no vector of the request"
        found = penalty_path(_known(recorded, shown, order), recorded.vector, profile)
        return found, "" if found else "no candidate has a vector of the request's length"

    def _marks_of(self, query: str, place: dict[str, int]) -> dict[str, Verdict]:
        """Of candidates only: others may be none of the caller's business."""
        if self._marks is None:
            return {}
        with _told():
            marked = self._marks.of(query.strip())
        return {key: verdict for key, verdict in marked.items() if key in place}


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
    if not request:
        raise Invalid("the request is empty: type what is to be done")
    if len(request) > MAX_REQUEST:
        raise Invalid(f"{len(request):,} characters of request: shorten it to {MAX_REQUEST:,}")
    return request


def _known(
    recorded: RecordingEngine, shown: tuple[ShownCandidate, ...], order: tuple[int, ...]
) -> list[tuple[int, Candidate]]:
    """Position and candidate; without those that only sample requests brought, whose vectors nobody has."""
    return [
        (number, recorded.known[shown[number].id]) for number in order if shown[number].id in recorded.known
    ]


def _hit(hit: SearchHit, candidate: int) -> ShownHit:
    return ShownHit(
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
def _told() -> Iterator[None]:
    """What an engine or the file of marks raises, as an error of the page."""
    try:
        yield
    except EvaluationError as error:
        raise MarksProblem(str(error)) from error
    except (EngineError, ToolrankError) as error:
        raise CatalogProblem(str(error)) from error
