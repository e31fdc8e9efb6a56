"""The server side of the explain page: searches a catalog with the models of the service."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kitpick.result import SearchResult
from kitpick.served import ServedCatalog, require_keys
from kitpick.ui.adapt_desk import AdaptDesk, PageCaller, check_adapted_file
from kitpick.ui.checkup import check_answer, findings_of_descriptions, findings_of_part, ids_of_part
from kitpick.ui.errors import MarksProblem, NoMarks, NoPlace, UnknownApi
from kitpick.ui.figures import flow, packing
from kitpick.ui.protocol import (
    MAX_BUDGET,
    MAX_HITS,
    MAX_REQUEST,
    About,
    BrowseCall,
    CheckAnswer,
    CheckCall,
    ExplainAnswer,
    ExplainCall,
    MarkAnswer,
    MarkCall,
    Overview,
    ProfileLine,
    Shelf,
    ShowCall,
    ShownApi,
    ShownCall,
    ShownCandidate,
    ShownFlow,
    ShownHit,
    Spent,
)
from kitpick.ui.shelves import MOST, MOST_READ, CatalogListing, Shelves, examples
from kitpick.ui.why import asked_words, reads_as, why_found
from kitpick_engines.contract import Candidate, Filter
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import plain
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.judgements import Judgements, Mark, file_of_caller
from kitpick_foundation.places import HiddenPlaces
from kitpick_foundation.visible import is_blank
from kitpick_ingest.prose import clip
from kitpick_rescorers.profiles import Profile, shipped_profiles
from kitpick_rescorers.search import SearchHit, SearchOutcome
from kitpick_rescorers.state import without_places
from kitpick_service.core import Service
from kitpick_service.errors import Invalid
from kitpick_service.ticket import Ticket

_LOG = logging.getLogger("kitpick.service")
_DESCRIPTION = 240
"""Characters."""


class UiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the page."""

    catalog: str | None = None
    """URL; by default the one in the settings of catalogs."""
    marks: Path | None = None
    """File that marks go to, and the files of tenants and callers beside it; none are taken without one."""
    adapted: Path | None = None
    """File that an adapted profile goes to; none is adapted without one."""
    permitted: Filter = Filter()
    """The caller of a service without keys; with keys, each key names its caller."""


class Desk:
    """Answers the requests of the page. Safe to use from several threads.

    What cannot be answered as asked raises `Invalid`, `InvalidRequest` or `NotFound`; a catalog that cannot
    be read, or is empty, `CatalogProblem`; models without time `Overloaded`, `DeadlinePassed` or `Cancelled`.
    """

    def __init__(self, service: Service, settings: UiSettings) -> None:
        """Opens the catalog.

        Raises:
            UnknownEngine, EngineUnavailable: it cannot be opened.
            OpenToOthers: reachable from other machines, without keys.
            NoPlace: the folder of the marks' file, or the adapted profile's, is missing, or takes no file.
        """
        require_keys(service, "--ui")
        if settings.marks is not None:
            _make_file(settings.marks)
        if settings.adapted is not None:
            check_adapted_file(settings.adapted)
        self._service = service
        self._settings = settings
        files = [each for each in (settings.marks, settings.adapted) if each is not None]
        self._served = ServedCatalog(service, settings.catalog, settings.permitted, files)
        self._catalog, self._places = self._served.catalog, self._served.places
        self._permitted, self._way = self._served.permitted, self._served.way
        self._shelves = Shelves(self._catalog)
        url = settings.catalog or self._catalog.settings.catalog
        self.adaptations = AdaptDesk(service, url, settings.adapted, self._places, self._caller)

    def about(self, call: None, ticket: Ticket) -> About:
        """Profiles and settings that the page offers."""
        with self._served.problems():
            self._catalog.live()
        names = sorted({*shipped_profiles(), self._service.default_profile.name})
        return About(
            profiles=tuple(ProfileLine(name, self._service.profile(name).description) for name in names),
            profile=self._service.default_profile.name,
            marking=self._settings.marks is not None,
            adapting=self.adaptations.offered_to(ticket),
            operator=ticket.bearer.operator,
        )

    def explain(self, call: ExplainCall, ticket: Ticket) -> ExplainAnswer:
        """Searches, and explains every step."""
        started = time.perf_counter()
        _check(call)
        profile = self._service.profile(call.profile)
        with self._served.problems():
            outcome = self._way(ticket).run(
                _checked_request(call.query), profile, call.k, self._permitted(ticket), call.budget
            )
        if ticket.refusal is not None:
            raise ticket.refusal
        answer = self._answer(call, profile, outcome, self._marks(ticket))
        total = (time.perf_counter() - started) * 1e3
        return replace(answer, request_id=ticket.request_id, spent=Spent(total, ticket.in_models * 1e3))

    def overview(self, call: None, ticket: Ticket) -> Overview:
        """What the caller may see of the catalog, and three requests that work on it."""
        permitted = self._permitted(ticket)
        with self._served.problems():
            _, schema = self._catalog.live()
            shelves = self._shelves.of(permitted)
            found = self._shelves.examples(permitted, lambda shown: self._examples(shown, ticket, permitted))
        return Overview(
            name=catalog_name(self._catalog.engine.url),
            apis=len(shelves.lines),
            categories=shelves.categories(),
            more=shelves.more,
            models=schema.models or schema.model,
            examples=found,
            changed=shelves.changed,
        )

    def browse(self, call: BrowseCall, ticket: Ticket) -> Shelf:
        """The tools of a category, or the APIs of a tool; empty where the caller may see none."""
        with self._served.problems():
            return self._shelves.of(self._permitted(ticket)).shelf(call.category, call.tool)

    def show(self, call: ShowCall, ticket: Ticket) -> ShownApi:
        """An API whole."""
        with self._served.problems():
            permitted = self._permitted(ticket)
            found = self._catalog.engine.fetch([call.id], permitted)
            if not found:
                raise UnknownApi(call.id)
            store = self._catalog.intents.written
            written = None if store is None else store.entry(call.id)
        return _whole(found[0], () if written is None else written.kept_for(permitted))

    def check(self, call: CheckCall, ticket: Ticket) -> CheckAnswer:
        """Looks for APIs that are hard to find, among those that the caller may see, part by part."""
        permitted = self._permitted(ticket)
        with self._served.problems():
            listing = self._shelves.of(permitted)
            part = self._catalog.engine.fetch(ids_of_part(listing, call.first), permitted)
            findings = list(findings_of_part(listing, part, self._found_by(ticket, permitted)))
            if call.first == 0:
                documents = self._catalog.documents(permitted, MOST_READ)
                findings += findings_of_descriptions(list(islice(documents, MOST)))
        if ticket.refusal is not None:
            raise ticket.refusal
        return check_answer(listing, call.first, findings)

    def mark(self, call: MarkCall, ticket: Ticket) -> MarkAnswer:
        """Stores a judgement of an API for a request."""
        marks = self._marks(ticket)
        if marks is None:
            raise NoMarks
        query = _checked_request(call.query)
        with self._served.problems():
            if not self._catalog.engine.fetch([call.id], self._permitted(ticket)):
                raise UnknownApi(call.id)
        with _problems_of_marks(self._places):
            return MarkAnswer(call.verdict, marks.mark(query, call.id, call.verdict))

    def close(self) -> None:
        """Releases the catalog, and ends what adapts a profile to it."""
        self.adaptations.close()
        self._catalog.close()

    def _caller(self, ticket: Ticket) -> PageCaller:
        marks = self._marks(ticket)
        return self._permitted(ticket), None if marks is None else marks.path

    def _marks(self, ticket: Ticket) -> Judgements | None:
        """The marks of this caller: nobody sees or changes those of others, nor fills a file of theirs."""
        file = self._settings.marks
        if file is None:
            return None
        return Judgements(file_of_caller(file, self._permitted(ticket).tenant, ticket.bearer.name))

    def _examples(self, shown: CatalogListing, ticket: Ticket, permitted: Filter) -> tuple[str, ...]:
        """Requests that find their API: those that were written for one come first."""
        store = self._catalog.intents.written
        entries = {} if store is None else store.entries()
        written = {id_: entry.kept_for(permitted) for id_, entry in entries.items()}
        return examples(shown.candidates(written), self._first(ticket, permitted))

    def _first(self, ticket: Ticket, permitted: Filter) -> Callable[[str], str | None]:
        """The id of what plain rankings put first for a request of this caller."""
        found = self._found_by(ticket, permitted)
        return lambda text: next(iter(found(text, 1)), None)

    def _found_by(self, ticket: Ticket, permitted: Filter) -> Callable[[str, int], list[str]]:
        """The ids of what plain rankings find for a request of this caller."""
        way, hybrid = self._way(ticket), self._service.profile("hybrid")
        return lambda text, k: [hit.id for hit in way.run(text, hybrid, k, permitted, None).hits]

    def _answer(
        self, call: ExplainCall, profile: Profile, outcome: SearchOutcome, marks: Judgements | None
    ) -> ExplainAnswer:
        rescored = outcome.rescored
        known = {item.id: item for item in (*outcome.seen.candidates, *outcome.seen.fetched)}
        shown = list(known.values())
        place = {key: number for number, key in enumerate(known)}
        stages = flow(outcome, place)
        result = SearchResult.of(profile.name, outcome)
        words = asked_words(call.query)
        return ExplainAnswer(
            request_id="",
            profile=profile.name,
            hits=tuple(_hit(hit, place[hit.id], known[hit.id], words) for hit in outcome.hits),
            candidates=tuple(ShownCandidate(item.id, item.tool, item.api) for item in shown),
            plan=_plan(result, place),
            stages=stages,
            kind=rescored.query_kind,
            reads_as=reads_as(call.query, rescored.query_kind, shown),
            abstained=result.unlikely,
            degraded=without_places(outcome.degraded, self._places),
            packing=None if call.budget is None else packing(result, call.budget, place),
            marks=_marked(marks, call.query, place, self._places),
            spent=Spent(0.0, 0.0),
        )


def _make_file(marks: Path) -> None:
    """Makes the file of marks, so that a place that takes none is told at the start."""
    if not marks.parent.is_dir():
        raise NoPlace("--marks", marks, f"there is no folder {marks.parent}")
    try:
        if not marks.exists():
            marks.touch()
    except OSError as error:
        raise NoPlace("--marks", marks, f"cannot be written: {error.strerror}") from error


def _marked(
    marks: Judgements | None, query: str, place: dict[str, int], places: HiddenPlaces
) -> dict[str, Mark]:
    """Marks of the candidates only, because the caller may not see other APIs (any more)."""
    if marks is None:
        return {}
    with _problems_of_marks(places):
        marked = marks.of(query.strip())
    return {key: verdict for key, verdict in marked.items() if key in place}


def _plan(result: SearchResult, place: dict[str, int]) -> tuple[ShownCall, ...]:
    """The plan of an answer, where something flows in it."""
    calls = tuple(
        ShownCall(
            place[call.id],
            tuple(ShownFlow(taken.input, place[taken.giver]) for taken in call.takes),
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


def _checked_request(query: str) -> str:
    request = query.strip()
    if is_blank(request):
        raise Invalid("the request is empty: type what is to be done")
    if len(request) > MAX_REQUEST:
        raise Invalid(f"{len(request):,} characters of request: shorten it to {MAX_REQUEST:,}")
    return request


def _hit(hit: SearchHit, place: int, candidate: Candidate, words: Mapping[str, str]) -> ShownHit:
    return ShownHit(
        id=hit.id,
        candidate=place,
        rank=hit.rank,
        score=hit.score,
        probability=hit.probability,
        reasons=hit.reasons,
        why=why_found(words, hit.document, candidate, hit.reasons),
        description=clip(plain(hit.document.description), _DESCRIPTION),
        effect=hit.document.effect.value,
        deprecated=hit.document.deprecated,
    )


def _whole(document: ApiDocument, requests: tuple[str, ...]) -> ShownApi:
    return ShownApi(
        id=document.id,
        category=document.category,
        tool=document.tool,
        api=document.api,
        description=document.description,
        effect=document.effect.value,
        deprecated=document.deprecated,
        restricted=bool(document.allowed or document.tenant),
        requests=requests,
        definition=_indented(document.definition),
    )


def _indented(definition: str) -> str:
    """JSON on several lines; what is no JSON stays as it is."""
    try:
        return msgspec.json.format(definition, indent=2)
    except msgspec.DecodeError:
        return definition


def catalog_name(url: str) -> str:
    """The last part of a catalog's URL, which names neither folders nor hosts nor keys."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]


@contextmanager
def _problems_of_marks(places: HiddenPlaces) -> Iterator[None]:
    """A context that turns errors of the file of marks into the page's, which name no folder."""
    try:
        yield
    except EvaluationError as error:
        _LOG.warning("marks: %s", error)
        raise MarksProblem(places.hidden(str(error))) from error
