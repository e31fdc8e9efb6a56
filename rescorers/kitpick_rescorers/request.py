"""The input and the output of a rescorer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Place, Vector
from kitpick_rescorers.errors import InvalidRequest
from kitpick_rescorers.reading.request_reading import Reading, as_read, read_request
from kitpick_rescorers.scoring import isotonic
from kitpick_rescorers.state import (
    ANSWERABLE,
    MAX_HELD,
    Degradation,
    HeldIdentifier,
    Matrix,
    Need,
    QueryKindEstimate,
    Ranked,
    StageTrace,
    State,
)

MAX_CANDIDATES = 10_000
MAX_QUERY_CHARACTERS = 1_000_000
MAX_PLACED = 100
MAX_READ_AS = 20
MAX_USED = 50


class Spoken(msgspec.Struct, frozen=True):
    """What a conversation brings beside its request."""

    held: tuple[HeldIdentifier, ...] = ()
    """Identifiers that it holds, at most `MAX_HELD`."""
    used: tuple[str, ...] = ()
    """Names of functions that it has called and does not ask for again, at most `MAX_USED`."""


NOTHING_SPOKEN = Spoken()


class RescoreRequest(msgspec.Struct, frozen=True, eq=False):
    """A query with the candidates of the first stage."""

    query: str
    candidates: Sequence[Candidate]
    """Candidates in any order; the same id twice is one candidate with the places of both."""
    vector: Vector | None = None
    """Query vector (d,); without one, stages that need it are skipped."""
    k: int = 10
    """Number of hits that are wanted, at least 0."""
    fetched: Sequence[Candidate] = ()
    """Documents fetched because an earlier answer said `need`; their places do not count."""
    complete_tools: frozenset[str] = frozenset()
    """Tool keys of which every visible API has been fetched."""
    intent_trust: float = 1.0
    """How far the candidates' `intent` places are to be trusted, in [0, 1]."""
    vector_model: str = ""
    """Identity of the model that made the query's vector and the candidates'; empty where it is unknown."""
    encoder_reads: bool = False
    """Whether that model says that it reads the query's language, which nothing shipped reads."""
    held: tuple[HeldIdentifier, ...] = ()
    """Identifiers that the conversation holds beside the query, at most `MAX_HELD`."""
    placed_first: Mapping[str, str] = {}
    """Ids of candidates that come first whatever the models say, in that order, and why: what was confirmed
    for this request, and what it names by its path. At most `MAX_PLACED`."""
    used: tuple[str, ...] = ()
    """Names of functions that the conversation has called and that its last message does not ask for again;
    at most `MAX_USED`."""
    read_as: tuple[str, ...] = ()
    """How the query was read before the search, for the trace: `cansel → cancel`."""

    @property
    def reading(self) -> Reading:
        """What the query says, as far as it is read. Models see its `embedded`, the rules all of it."""
        reading = read_request(as_read(self.query)[0])
        return msgspec.structs.replace(reading, by_encoder=True) if self.encoder_reads else reading


class Hit(msgspec.Struct, frozen=True):
    """One API of the answer. Ranks count from 1.

    `score` is what the last scoring stage gave: comparable within one answer, not monotone where a rule such
    as concentrate moved candidates. `probability` is calibrated, never rises down the list, and is None where
    the cross-encoder did not score.
    """

    id: str
    """Id of the API's document."""
    rank: int
    """From 1."""
    score: float
    """Score of the last stage that scored, on its own scale: comparable within one answer only."""
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """How likely the API serves the request; None where the cross-encoder did not score it."""
    reasons: tuple[str, ...] = ()
    """`stage: explanation`, in the order of the stages."""


class Rescored(msgspec.Struct, frozen=True):
    """The answer: the best list so far, and the documents that would improve it."""

    results: tuple[Hit, ...]
    query_kind: QueryKindEstimate | None = None
    abstained: bool = False
    abstained_because: str = ""
    degraded: tuple[Degradation, ...] = ()
    need: Need | None = None
    trace: tuple[StageTrace, ...] = ()
    rounds: int = 0
    """How many times something was fetched for this answer."""

    @property
    def answerable(self) -> float | None:
        """Probability in [0, 1] that anything here serves the request; None where no stage judged it."""
        judged = (entry.details[ANSWERABLE] for entry in reversed(self.trace) if ANSWERABLE in entry.details)
        return next(judged, None)

    @property
    def timings(self) -> Mapping[str, float]:
        """Milliseconds by stage; a stage that ran twice counts together."""
        spent: dict[str, float] = {}
        for entry in self.trace:
            spent[entry.stage] = spent.get(entry.stage, 0.0) + entry.milliseconds
        return spent


def opening_state(request: RescoreRequest) -> State:
    """The state before the first stage.

    Raises:
        InvalidRequest: negative k, too many candidates or held identifiers, a query too long, or a rank
            below 1.
    """
    _check(request)
    proposed = _merged(request.candidates)
    known = {candidate.id for candidate in proposed}
    late = [placeless(c) for c in _merged(request.fetched) if c.id not in known]
    ranked = [Ranked(c, c.tool_key, rank) for rank, c in enumerate(proposed, start=1)]
    ranked += [Ranked(c, c.tool_key, len(proposed) + 1, fetched=True) for c in late]
    state = State(
        query=request.reading.embedded,
        vector=None,
        ranked=tuple(ranked),
        complete_tools=request.complete_tools,
        intent_trust=request.intent_trust,
        held=request.held,
        degraded=as_read(request.query)[1],
    )
    return _with_vector(state, request.vector)


def closing_answer(state: State, k: int) -> Rescored:
    """The first k of the list with their reasons."""
    sure = _sureness(state.ranked)
    results = tuple(
        Hit(item.id, rank, item.score, sure.get(item.id), _reasons(state.trace, item.id))
        for rank, item in enumerate(state.ranked[:k], start=1)
    )
    return Rescored(
        results=results,
        query_kind=state.kind,
        abstained=bool(state.abstained),
        abstained_because=state.abstained,
        degraded=state.degraded,
        need=state.need if state.need != Need() else None,
        trace=state.trace,
    )


def _sureness(ranked: Sequence[Ranked]) -> dict[str, float]:
    """Probabilities by id, so that none is surer than one above it.

    Where stages after the cross-encoder put a likely candidate below a less likely one, both get their mean:
    the order has seen more than each pair by itself.
    """
    scored = [(item.id, item.probability) for item in ranked if item.probability is not None]
    values = isotonic(np.array([probability for _, probability in scored]))
    return dict(zip((name for name, _ in scored), values.tolist(), strict=True))


def _reasons(trace: Iterable[StageTrace], candidate_id: str) -> tuple[str, ...]:
    return tuple(
        f"{entry.stage}: {entry.reasons[candidate_id]}" for entry in trace if candidate_id in entry.reasons
    )


def _check(request: RescoreRequest) -> None:
    if request.k < 0:
        raise InvalidRequest(f"k is {request.k}: ask for 0 hits or more")
    if len(request.query) > MAX_QUERY_CHARACTERS:
        raise InvalidRequest(f"{len(request.query):,} characters of query: at most {MAX_QUERY_CHARACTERS:,}")
    if len(request.held) > MAX_HELD:
        raise InvalidRequest(f"{len(request.held):,} held identifiers: at most {MAX_HELD}")
    if len(request.used) > MAX_USED:
        raise InvalidRequest(f"{len(request.used):,} used functions: at most {MAX_USED}")
    if len(request.placed_first) > MAX_PLACED or len(request.read_as) > MAX_READ_AS:
        raise InvalidRequest(
            f"at most {MAX_PLACED} candidates are placed first, {MAX_READ_AS} readings are told"
        )
    given = len(request.candidates) + len(request.fetched)
    if given > MAX_CANDIDATES:
        raise InvalidRequest(f"{given:,} candidates: at most {MAX_CANDIDATES:,} in one request")
    for candidate in request.candidates:
        for place in candidate.places.values():
            if place is not None and place.rank < 1:
                raise InvalidRequest(f"{candidate.id[:200]!r} has rank {place.rank}: ranks count from 1")


def _merged(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One candidate an id, in the order of first appearance, with the better place of each ranking."""
    merged: dict[str, Candidate] = {}
    for candidate in candidates:
        known = merged.setdefault(candidate.id, candidate)
        if known is not candidate:
            places = candidate.places
            better = {name: _better(place, places[name]) for name, place in known.places.items()}
            merged[candidate.id] = replace(known, **better)
    return list(merged.values())


def _better(one: Place | None, other: Place | None) -> Place | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda place: place.rank)


def placeless(candidate: Candidate) -> Candidate:
    """The candidate without places: they belong to another query."""
    return replace(candidate, **dict.fromkeys(candidate.places))


def _with_vector(state: State, vector: Vector | None) -> State:
    if vector is None:
        return state
    array: Matrix = np.asarray(vector, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or not array.any():
        return state.degrading("request", "the query vector is empty, zero or not finite, and was ignored")
    return replace(state, vector=array)
