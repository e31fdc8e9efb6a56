"""This project's own protocol: `POST /v1/rescore`."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_foundation.visible import is_blank
from kitpick_rescorers.models import Models
from kitpick_rescorers.passages import nearest_passage
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.request_reading import is_read_by
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.scoring import unscored
from kitpick_rescorers.search import Query, prepare
from kitpick_rescorers.stages import CrossEncode
from kitpick_rescorers.stages.cross_encode import FETCHED
from kitpick_rescorers.state import Degradation, joined
from kitpick_service.core import Service
from kitpick_service.dialect import Dialect, Endpoint
from kitpick_service.errors import Failure
from kitpick_service.exchange import request_of
from kitpick_service.protocol import ErrorAnswer, Problem, RescoreAnswer, RescoreCall
from kitpick_service.ticket import Ticket


def _error(failure: Failure, request_id: str) -> ErrorAnswer:
    return ErrorAnswer(Problem(failure.code, failure.message, request_id))


NATIVE = Dialect("native", ErrorAnswer, _error)


class Prepared(msgspec.Struct, frozen=True):
    """The models of a pipeline, and those that are missing."""

    request: RescoreRequest
    models: Models
    roles: tuple[str, ...]
    degraded: tuple[Degradation, ...] = ()
    embed_ms: float = 0.0


def answer_rescore(service: Service, call: RescoreCall, ticket: Ticket) -> RescoreAnswer:
    """Ranks the candidates of a call.

    Raises:
        Invalid, NotFound, InvalidRequest: it cannot be answered as asked.
        Overloaded, Cancelled: nothing was done for it.
    """
    ticket.shorten(call.deadline_ms)
    profile = service.profile(call.profile)
    prepared = _prepared(service, request_of(call), profile, ticket)
    prepared = _embedded(service, profile, prepared, ticket)
    if call.passages:
        prepared = _with_passages(service, prepared, profile, ticket)
    rescored = _ranked(service, prepared, profile, ticket)
    return answered(service, rescored, profile, prepared, ticket, call.explain)


def ranked(
    service: Service, request: RescoreRequest, profile: Profile, ticket: Ticket
) -> tuple[Rescored, Prepared]:
    """Ranks the candidates of a request that has its vector, and says with which models.

    Raises:
        InvalidRequest: it cannot be answered as asked.
        Overloaded, Cancelled: nothing was done for it.
    """
    prepared = _prepared(service, request, profile, ticket)
    return _ranked(service, prepared, profile, ticket), prepared


def answered(
    service: Service, rescored: Rescored, profile: Profile, used: Prepared, ticket: Ticket, explain: bool
) -> RescoreAnswer:
    """The answer as it is sent, with the trace only if the call asks for it. It is counted."""
    service.metrics.rescored(rescored.timings, [item.stage for item in rescored.degraded])
    timings = {"embed": used.embed_ms, "wait": ticket.waited * 1e3, "total": ticket.spent_ms}
    infos = service.models.info()
    return RescoreAnswer(
        request_id=ticket.request_id,
        profile=profile.name,
        results=rescored.results,
        models={role: infos[role] for role in used.roles},
        timings={**rescored.timings, **timings},
        query_kind=rescored.query_kind,
        abstained=rescored.abstained,
        abstained_because=rescored.abstained_because,
        degraded=rescored.degraded,
        need=rescored.need,
        trace=rescored.trace if explain else (),
    )


def _prepared(service: Service, request: RescoreRequest, profile: Profile, ticket: Ticket) -> Prepared:
    models, degraded = service.models.for_needs(profile.needs(), ticket, request.vector_model)
    used = {"cross_encoder": models.scorer, "query_kind": models.query_kind, "list_ranker": models.ranker}
    roles = tuple(role for role, model in used.items() if model is not None)
    return Prepared(request, models, roles, degraded)


def _embedded(service: Service, profile: Profile, prepared: Prepared, ticket: Ticket) -> Prepared:
    """The request with the query's vector, if a stage needs one and the caller sent none.

    The vector that a caller sent is turned as the service's own profile turns its own; a profile that comes
    with a call turns nothing (`Service.profile`).
    """
    request = prepared.request
    matrix = profile.request_matrix()
    if request.vector is not None and matrix is not None:
        model = request.vector_model or service.models.encoder.identity
        asked = Query(request.query, request.vector, model).turned(matrix)
        degraded = (*prepared.degraded, *asked.degraded)
        return replace(prepared, request=replace(request, vector=asked.vector), degraded=degraded)
    if request.vector is not None or "vector" not in profile.needs() or is_blank(request.query):
        return prepared
    own = service.models.encoder.identity
    if request.vector_model and request.vector_model != own:
        reason = (
            f"the request's vectors are of {request.vector_model}, this service embeds with {own}: send one"
        )
        return replace(prepared, degraded=(*prepared.degraded, Degradation("embed", reason)))
    started = time.perf_counter()
    encoder = service.models.remembered_queries(ticket)
    query = prepare(request.query, profile.needs() & {"vector"}, encoder).turned(matrix)
    if query.vector is None:
        return replace(prepared, degraded=(*prepared.degraded, *query.degraded))
    return replace(
        prepared,
        request=replace(request, vector=query.vector),
        roles=("encoder", *prepared.roles),
        degraded=(*prepared.degraded, *query.degraded),
        embed_ms=(time.perf_counter() - started) * 1e3,
    )


def _with_passages(service: Service, prepared: Prepared, profile: Profile, ticket: Ticket) -> Prepared:
    """The request with the best passages of long texts, and how many they are."""
    stages = [each for each in profile.stages if isinstance(each, CrossEncode)]
    request, model = prepared.request, service.models.cross_encoder
    first = max((each.candidates for each in stages), default=0)
    more = FETCHED if stages else 0
    texts = [*request.candidates[:first], *request.fetched[:more]]
    long = {texts[place].id for place in model.cut_texts(request.query, [each.text for each in texts])}
    if not long:
        return prepared
    room = model.room_beside(request.query)

    def nearest(candidates: Sequence[Candidate]) -> list[Candidate]:
        return [
            replace(each, text=nearest_passage(request.query, each.text, room, ticket.check))
            if each.id in long
            else each
            for each in candidates
        ]

    reason = (
        f"{len(long)} texts are longer than the {model.manifest.max_tokens} tokens that the model reads: "
        "of each, the passage nearest to the request was read"
    )
    nearer = replace(request, candidates=nearest(request.candidates), fetched=tuple(nearest(request.fetched)))
    found = Degradation("cross_encode", reason)
    return replace(prepared, request=nearer, degraded=(*prepared.degraded, found))


def _understood(service: Service, request: RescoreRequest) -> RescoreRequest:
    """The request, which says whether the encoder of its vector reads its language."""
    encoder = service.models.encoder
    own = request.vector is not None and request.vector_model in ("", encoder.identity)
    return replace(request, encoder_reads=own and is_read_by(encoder, request.reading))


def _ranked(service: Service, prepared: Prepared, profile: Profile, ticket: Ticket) -> Rescored:
    profile, shortened = _in_time(service, prepared, profile, ticket)
    request = _understood(service, prepared.request)
    started = time.perf_counter()
    rescored = rescore(request, profile, prepared.models, deadline=ticket.working())
    for stage, milliseconds in rescored.timings.items():
        ticket.spent(f"stage {stage}", started, started := started + milliseconds / 1e3)
    if ticket.refusal is not None:
        raise ticket.refusal
    if ticket.cancelled:
        ticket.check()
    failed = {each.stage for each in rescored.degraded}
    read = tuple(each for each in shortened if each.stage not in failed)
    return replace(rescored, degraded=joined(prepared.degraded, read, rescored.degraded))


def _in_time(
    service: Service, prepared: Prepared, profile: Profile, ticket: Ticket
) -> tuple[Profile, tuple[Degradation, ...]]:
    """The profile with no more candidates for the cross-encoder than it can read before the deadline.

    The first ones are read then, and the others follow in their order: better than to begin with all of them
    and to have nothing at the deadline.
    """
    request = prepared.request
    wanted = max((each.candidates for each in profile.stages if isinstance(each, CrossEncode)), default=0)
    texts = [each.text for each in request.candidates][:wanted]
    if not texts or request.fetched:
        return profile, ()
    scorer = service.models.scorer(ticket)
    missing = unscored(scorer.identity, prepared.models.cache, request.query, texts)
    most = len(texts) - len(missing) + scorer.in_time(request.query, missing)
    if most >= len(texts):
        return profile, ()
    stages = tuple(
        replace(each, candidates=min(each.candidates, most)) if isinstance(each, CrossEncode) else each
        for each in profile.stages
    )
    reason = f"read the first {most} of {len(texts)} candidates: there was no time for more"
    return replace(profile, stages=stages), (Degradation("cross_encode", reason),)


_SUMMARY = "Ranks the candidates of a first stage"
ENDPOINTS = (Endpoint("/v1/rescore", _SUMMARY, NATIVE, RescoreCall, RescoreAnswer, answer_rescore),)
