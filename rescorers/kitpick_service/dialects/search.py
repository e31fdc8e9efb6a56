"""A whole search for a caller who reads the index: `POST /v1/search`.

The OpenSearch plugin is one, and any client of Elasticsearch can be. The steps and the searches are those of
everybody else (`kitpick_rescorers.search`, `kitpick_engines.remote`). The first call asks for the searches of
the first stage, and every further call brings what was found so far and goes through the same steps again,
up to the next search or to the end. No answer depends on what the service keeps between calls, so any copy
can take the next one, and asks for documents that it was not sent before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import Filter, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.elasticsearch import ElasticsearchDialect
from kitpick_engines.errors import CorruptStore
from kitpick_engines.opensearch import OpenSearchDialect
from kitpick_engines.remote.indexes import is_of_schema
from kitpick_engines.remote.live_index import LiveIndex
from kitpick_engines.remote.queries import CommittedIndex, IndexQuestion, visible
from kitpick_engines.remote.server import Json, ServerDialect
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_foundation.visible import is_blank
from kitpick_rescorers.packing import PackingSizes
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import MAX_CANDIDATES, Rescored, RescoreRequest
from kitpick_rescorers.search import Search
from kitpick_rescorers.state import Degradation, joined, without_places
from kitpick_service.admission import AdmittedSearch
from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.dialects.native import NATIVE, Prepared, answered, ranked
from kitpick_service.errors import Invalid, Overloaded
from kitpick_service.keys import Bearer
from kitpick_service.protocol import Milliseconds, RescoreAnswer, SearchAnswer, SearchCall
from kitpick_service.ticket import Ticket

_DIALECTS: dict[str, ServerDialect] = {
    "opensearch": OpenSearchDialect("hnsw", "lucene"),
    "elasticsearch": ElasticsearchDialect("hnsw"),
}
_TEXTS = ("id", "category", "tool", "api", "text")
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, CorruptStore)
"""What reading answers raises that are none of a search server."""
_NO_ANSWERS = "found: no answers of a search server to the searches asked for"
_CLAIMED = (
    "the call names a tenant or principals that its key does not have: they were left out "
    "(the key of a search server has `speaks_for_others = true` in the service's file of keys)"
)
_UNREAD = Degradation("cross_encode", "no time for it beside other searches: ranked by words and vectors")
_SAMPLES = "sample requests take no part for a key without `speaks_for_others`"
_GLIMPSED_BYTES = 65_536
"""Most bytes of a body that the event loop itself looks into; first calls are shorter."""
_BYTES_A_SEARCH = 32_768
"""Bytes of one search: its vector, terms and fields."""


class SearchesAsked(BaseException):
    """Searches that the caller has to run before the steps can go on.

    No `Exception`: a step that degrades when an index cannot be read must let it through.
    """

    def __init__(self, searches: Sequence[Json], shown_bytes: int) -> None:
        super().__init__(f"{len(searches)} searches")
        self.searches = tuple(searches)
        self.shown_bytes = shown_bytes
        """Bytes of the query for what may be seen, which stands in each search."""


class RelayedState:
    """One committed state of an index, as its caller describes it: a `CommittedIndex`, for one request.

    Its queries can have many megabytes: all searches share the same objects.
    """

    def __init__(self, schema: IndexSchema, *conditions: Json | None) -> None:
        """`conditions` every document must match: the committed state, and what the caller adds, or None."""
        self.schema = schema
        self._conditions = [each for each in conditions if each]
        self._shown: dict[Filter, Json] = {}

    def visible(self, wanted: Filter) -> Json:
        """The query for its documents that a filter shows; the same object for the same filter."""
        if wanted not in self._shown:
            self._shown[wanted] = visible(wanted, self._conditions)
        return self._shown[wanted]

    @property
    def shown_bytes(self) -> int:
        """Bytes of the longest query for what a filter shows, as JSON."""
        return max((len(msgspec.json.encode(each)) for each in self._shown.values()), default=0)


class Relay:
    """An `IndexReader` over the answers that a caller has brought to each question so far."""

    def __init__(self, state: RelayedState, found: Sequence[Sequence[Json]]) -> None:
        self._state = state
        self._found = list(found)

    def ask(self, question: IndexQuestion) -> tuple[CommittedIndex, list[Json]]:
        """The answers to all searches of a question.

        Raises:
            SearchesAsked: the caller has not brought them yet.
            Invalid: it brought another number.
        """
        searches = list(question(self._state))
        if not searches:
            return self._state, []
        if not self._found:
            raise SearchesAsked(searches, self._state.shown_bytes)
        answers = self._found.pop(0)
        if len(answers) != len(searches):
            raise Invalid(f"found: {len(answers)} answers to {len(searches)} searches")
        return self._state, list(answers)


class _Glimpse(msgspec.Struct, frozen=True):
    """What is seen of a call before it is decoded."""

    found: tuple[msgspec.Raw, ...] = ()
    deadline_ms: Milliseconds | None = None
    profile: msgspec.Raw = msgspec.Raw(b"null")


def turn_away(service: Service, body: bytes, ticket: Ticket) -> None:
    """Refuses the first call of a search for which there is surely no time.

    Under overload most calls are such: what they cost is taken from the searches that are answered.

    Raises:
        Overloaded: nothing was done for it.
    """
    if len(body) > _GLIMPSED_BYTES:
        return
    try:
        seen = decode_as(body, _Glimpse)
    except UNDECODABLE:
        return  # what is wrong with it is said where it is decoded
    if not seen.found:
        ticket.shorten(seen.deadline_ms)
        pairs = _known_pairs(service.default_profile, seen.profile)
        service.admission.turn_away(ticket.left, pairs, ticket.bearer.name)


def _known_pairs(own: Profile, wanted: msgspec.Raw) -> int | None:
    """Pairs that the cross-encoder would read, if the service's own profile is asked for; else None."""
    return own.pairs if bytes(wanted) in (b"null", msgspec.json.encode(own.name)) else None


def answer_search(service: Service, call: SearchCall, ticket: Ticket) -> SearchAnswer:
    """The searches that the caller has to run next, or the ranking of all candidates.

    Raises:
        Invalid, NotFound, InvalidRequest: it cannot be answered as asked.
        Overloaded, Cancelled: nothing was done for it.
    """
    ticket.shorten(call.deadline_ms)
    service = service.over(call.index)
    if is_blank(call.query):
        raise Invalid("query: is empty: say what is wanted")
    profile = service.profile(call.profile)
    remembers = service.contents.max_bytes > 0
    answer = SearchAnswer(request_id=ticket.request_id, protocol=2 if remembers else 1)
    # A tenant that the key does not have is nobody's: by inventing some, it would push out what others sent.
    permitted, _ = _permitted(call, ticket.bearer)
    ticket.tenant = permitted.tenant
    contents = service.contents.of(ticket.owner, call.documents)
    known = [each for each in contents if each is not None]
    if len(known) < len(contents):
        return replace(answer, missing=tuple(n for n, each in enumerate(contents) if each is None))
    # They take as much room as if they had been sent: what is forgotten meanwhile stays until the answer.
    ticket.reserve(sum(each.size for each in known), "documents: ask for fewer hits")
    found = whole(call.found, [each.source for each in known])
    key = (ticket.bearer.name, call.tenant, call.index, call.query)
    with (
        service.admission.call(key, not call.found, profile.pairs, ticket.left, ticket.bearer.name) as search,
        service.admission.serving(search, ticket),
    ):
        return _served(_Led(service, call, found, profile, ticket, search), answer)


class _Led(NamedTuple):
    """One call of a search that is served."""

    service: Service
    call: SearchCall
    found: Sequence[Sequence[Json]]
    profile: Profile
    ticket: Ticket
    search: AdmittedSearch


def _served(led: _Led, answer: SearchAnswer) -> SearchAnswer:
    try:
        ranking = _ranking(led)
    except SearchesAsked as asked:
        count, shown = len(asked.searches), asked.shown_bytes
        what = f"{count} searches with {shown:,} bytes of `committed` and `filter` in each"
        led.ticket.reserve(count * (shown + _BYTES_A_SEARCH), f"{what}: shorten those, or the query")
        return replace(answer, searches=asked.searches)
    led.search.answered(led.ticket.pairs, led.ticket.reading)
    return replace(answer, ranking=ranking)


def _ranking(led: _Led) -> RescoreAnswer:
    """The same steps as `Search.run`, without the last: the caller reads the documents itself."""
    service, call, _, profile, ticket, _ = led
    used: list[Prepared] = []

    def rescorer(request: RescoreRequest, chosen: Profile) -> Rescored:
        rescored, prepared = _ranked_in_time(led, request, chosen)
        used.append(prepared)
        return rescored

    started = time.perf_counter()
    encoder = service.models.remembered_queries(ticket)
    permitted, bound = _permitted(call, ticket.bearer)
    # Samples name APIs before anybody knows whether the caller may see them: only for who speaks for all.
    votes = service.votes if ticket.bearer.speaks_for_others else None
    if votes is None and service.has_samples:
        bound = (*bound, Degradation("permissions", _SAMPLES))
    search = Search(_index(service, call, led.found), encoder, rescorer, _unmeasured, votes)
    query = search.prepare(call.query, profile.needs())
    embed_ms = (time.perf_counter() - started) * 1e3
    size = profile.first_stage.size_for(call.k)
    try:
        query, request = search.candidates(query, profile.needs(), size, permitted, profile.request_matrix())
    except _UNREADABLE as error:
        raise Invalid(_NO_ANSWERS) from error
    rescored, _ = search.rank(replace(request, k=MAX_CANDIDATES, held=call.held), profile, permitted)
    degraded = joined(bound, query.degraded, rescored.degraded)
    rescored = replace(rescored, degraded=without_places(degraded, service.places))
    embedded = () if query.vector is None else ("encoder",)
    models = replace(used[-1], roles=(*embedded, *used[-1].roles), embed_ms=embed_ms)
    return answered(service, rescored, profile, models, ticket, call.explain)


def _ranked_in_time(led: _Led, request: RescoreRequest, profile: Profile) -> tuple[Rescored, Prepared]:
    """The candidates ranked by all stages, or where there is no time for the cross-encoder, without it."""
    service, ticket = led.service, led.ticket
    pairs = min(profile.pairs, len(request.candidates))
    if not pairs or service.admission.can_read(led.search, pairs, ticket.left):
        try:
            return ranked(service, request, profile, ticket)
        except Overloaded:  # others ask the same model, by other paths
            ticket.refusal = None
    rescored, prepared = ranked(service, request, profile.without_scores(), ticket)
    return replace(rescored, degraded=joined((_UNREAD,), rescored.degraded)), prepared


def _permitted(call: SearchCall, bearer: Bearer) -> tuple[Filter, tuple[Degradation, ...]]:
    """What may be seen: by what the call says, within what the key says; and what was held back for the key.

    A key speaks for others, as that of a search server does, where its entry says so.
    """
    if bearer.speaks_for_others:
        return Filter(tenant=call.tenant, principals=frozenset(call.principals)), ()
    tenant = call.tenant if call.tenant == bearer.tenant else ""
    principals = frozenset(call.principals) & frozenset(bearer.principals)
    kept = tenant == call.tenant and principals == frozenset(call.principals)
    left_out = () if kept else (Degradation("permissions", _CLAIMED),)
    return Filter(tenant=tenant, principals=principals), left_out


def _index(service: Service, call: SearchCall, found: Sequence[Sequence[Json]]) -> LiveIndex:
    own = service.models.schema
    schema = own if is_of_schema(call.index, own) else replace(own, model="another model or template")
    relay = Relay(RelayedState(schema, call.committed, call.filter), found)
    return LiveIndex(call.index, relay, _DIALECTS[call.engine], service.terms)


def whole(found: Sequence[Sequence[Json]], documents: Sequence[Json] = ()) -> list[list[Json]]:
    """The answers with hits that are complete: what was sent of a document before is not sent again.

    Args:
        found: answers of a search server, as a call brings them.
        documents: contents that hits may name by their places.

    Raises:
        Invalid: these are no answers of a search server.
    """
    known: dict[str, Json] = {}
    contents = dict(enumerate(documents))
    try:
        return [[_whole(answer, known, contents) for answer in answers] for answers in found]
    except _UNREADABLE as error:
        raise Invalid(_NO_ANSWERS) from error


def _whole(answer: Json, known: dict[str, Json], contents: dict[int, Json]) -> Json:
    hits = []
    for hit in answer["hits"]["hits"]:
        source = hit.get("_source", {})
        if "document" in hit:
            content = contents[hit["document"]]
            source = {**content, **source} if source else content
        known[source["id"]] = merged = _joined(known.get(source["id"]), source)
        _require_texts(merged)
        hits.append({**hit, "_source": merged})
    return {**answer, "hits": {**answer["hits"], "hits": hits}}


def _require_texts(source: Json) -> None:
    """Refuses what no index holds, before a stage stumbles over it."""
    names = (source[name] for name in _TEXTS if name in source)
    if not all(
        isinstance(each, str) for each in (*names, *source.get("needs", ()), *source.get("gives", ()))
    ):
        raise TypeError("no document")


def _joined(known: Json | None, source: Json) -> Json:
    """A document with what is new of it; the same object where nothing is."""
    if known is None:
        return source
    if all(known.get(name) is value for name, value in source.items()):
        return known
    return {**known, **source}


def _unmeasured(documents: Sequence[ApiDocument]) -> PackingSizes:
    raise Invalid("a budget needs the definitions, which are not sent")


_SUMMARY = "Says which searches to run, and ranks what they find"
ENDPOINTS = (Endpoint("/v1/search", _SUMMARY, NATIVE, SearchCall, SearchAnswer, answer_search, turn_away),)
