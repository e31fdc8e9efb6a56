"""Queries that both servers understand, and reads of one committed state.

Every request also reads the state of the catalog. If it is not the state that the request was made for, the
request is repeated. So one round trip is enough while nobody writes, and an answer never mixes two states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from kitpick_engines.contract import Filter, IndexSchema
from kitpick_engines.errors import CorruptStore, EngineUnavailable
from kitpick_engines.remote.server import Json, Pauses, RequestRefused, SearchServer
from kitpick_engines.remote.state import CatalogState, IndexState, StateStore, check_name, decode_state
from kitpick_engines.text import has_utf8
from kitpick_foundation.forks import fork_lock

MAX_WINDOW = 10_000
"""Hits that a search returns at most, by the servers' own default."""
BEST_FIRST: list[Json] = [{"_score": "desc"}, {"id": "asc"}]
BY_ID: list[Json] = [{"id": "asc"}]
BY_SOURCE: Json = {"terms": {"field": "source", "size": 10_000}}
"""The aggregation that counts documents by source."""


def committed(index: IndexState) -> list[Json]:
    """Filters for the documents that exist in the last committed state of an index."""
    born: Json = {"range": {"born": {"lte": index.generation}}}
    died: Json = {"range": {"died": {"lte": index.generation}}}
    hidden = [session for session in index.hidden if session <= index.generation]
    if not hidden:
        return [born, {"bool": {"must_not": [died]}}]
    really_died = {"bool": {"filter": [died], "must_not": [{"terms": {"died": hidden}}]}}
    return [born, {"bool": {"must_not": [{"terms": {"born": hidden}}, really_died]}}]


def visible(wanted: Filter, conditions: Sequence[Json]) -> Json:
    """The query for the documents that a filter shows among those of some conditions, such as `committed`."""
    filters = [*conditions, _permitted(wanted), {"terms": {"tenant": storable({"", wanted.tenant})}}]
    for field, values in (("category", wanted.categories), ("tool_key", wanted.tools)):
        if values:
            filters.append({"terms": {field: storable(values)}})
    if wanted.effects:
        filters.append({"terms": {"effect": sorted(effect.value for effect in wanted.effects)}})
    if wanted.deprecated != "include":
        filters.append({"term": {"deprecated": wanted.deprecated == "only"}})
    return {"bool": {"filter": filters}}


def _permitted(wanted: Filter) -> Json:
    public: Json = {"term": {"public": True}}
    principals = storable(wanted.principals)
    if not principals:
        return public
    return {"bool": {"should": [public, {"terms": {"allowed": principals}}], "minimum_should_match": 1}}


def storable(values: Iterable[str]) -> list[str]:
    """Values that can occur in the index: a name with a lone surrogate cannot."""
    return sorted(value for value in values if value.isascii() or has_utf8(value))


def holding(terms: Sequence[str], shown: Json, size: int, fields: Sequence[str]) -> Json:
    """Search for visible documents that hold one of the terms, the weightiest first."""
    any_term = {"bool": {"should": [{"term": {"words": term}} for term in terms], "minimum_should_match": 1}}
    return {
        "size": size,
        "query": {"bool": {"must": [any_term], "filter": [shown]}},
        "sort": BEST_FIRST,
        "track_total_hits": False,
        "_source": [*fields, "lengths", *(f"counts.{term}" for term in terms)],
    }


def listed(shown: Json, size: int, fields: Sequence[str], after: str | None = None) -> Json:
    """Search for the documents of a query, ordered by id, from behind the id `after`."""
    body: Json = {
        "size": size,
        "query": shown,
        "sort": BY_ID,
        "track_total_hits": False,
        "_source": list(fields),
    }
    return body if after is None else body | {"search_after": [after]}


def by_source(aggregations: Json) -> dict[str, int]:
    """What `BY_SOURCE` counted under the name `sources`."""
    return {each["key"]: each["doc_count"] for each in aggregations["sources"]["buckets"]}


def narrowed(shown: Json, *filters: Json) -> Json:
    """A query with further conditions."""
    return {"bool": {"filter": [shown, *filters]}}


_ATTEMPTS = 50
_PATIENCE = 5.0
"""Seconds over which a refused search is tried again: somebody is waiting for the answer."""
_LATER = frozenset({429, 503})
_PHASE_FAILED = "search_phase_execution_exception"
_STATE = {"size": 1, "query": {"match_all": {}}}
_ENCODER = msgspec.json.Encoder()


class CommittedIndex(Protocol):
    """One committed state of an index, as searches see it. Equal ones hold the same documents."""

    @property
    def schema(self) -> IndexSchema:
        """What it was built with."""

    def visible(self, wanted: Filter) -> Json:
        """The query for its documents that a filter shows."""

    def __hash__(self) -> int: ...


IndexQuestion = Callable[[CommittedIndex], Sequence[Json]]
"""Search bodies for a state."""


class IndexReader(Protocol):
    """Runs searches over one committed state of an index."""

    def ask(self, question: IndexQuestion) -> tuple[CommittedIndex, list[Json]] | None:
        """The answers to all searches of a question, of one committed state; None where nothing is live."""


class Live(NamedTuple):
    """The live index of one committed state: a `CommittedIndex`."""

    name: str
    state: IndexState

    @property
    def schema(self) -> IndexSchema:
        """What it was built with."""
        return self.state.schema

    def visible(self, wanted: Filter) -> Json:
        """The query for the documents of the last committed state that a filter shows."""
        return visible(wanted, committed(self.state))


LiveQuestion = Callable[[Live], Sequence[Json]]
"""Search bodies for a state of a catalog that is read from its server."""


class LiveReader:
    """Reads the live index: an `IndexReader`. Safe to use from several threads."""

    def __init__(self, server: SearchServer, store: StateStore) -> None:
        self._server = server
        self._store = store
        self._lock = fork_lock()
        self._known: CatalogState | None = None

    def remember(self, state: CatalogState | None) -> CatalogState | None:
        """Stores a state that was just read or written."""
        with self._lock:
            self._known = state
        return state

    def state(self) -> CatalogState | None:
        """Reads the state; None for a catalog that does not exist."""
        now = self._store.load()
        return self.remember(now.state if now else None)

    def ask(self, question: LiveQuestion) -> tuple[Live, list[Json]] | None:
        """The answers to all searches of a question, of one committed state; None where nothing is live.

        Raises:
            EngineUnavailable: the server is too busy or cannot be reached, or the index is gone.
            RequestRefused: the server refused a search.
        """
        pauses = Pauses(_PATIENCE)
        gone = ""
        for _ in range(_ATTEMPTS):
            known = self._known or self.state()
            live = _live_of(known) if known else None
            if live is None:
                return None
            answers, state = self._send(live, question(live), pauses)
            unchanged = state is not None and _live_of(state) == live
            if answers is not None and unchanged:
                return live, answers
            gone = live.name if unchanged else ""
            self.remember(state)
        if gone:
            raise EngineUnavailable(
                f"{gone}: the catalog's index is not on the server any more, somebody deleted it: "
                "restore it from a snapshot, or ingest every source again"
            )
        raise EngineUnavailable(f"{self._store.index}: the catalog changes faster than it can be read")

    def _send(
        self, live: Live, bodies: Sequence[Json], pauses: Pauses
    ) -> tuple[list[Json] | None, CatalogState | None]:
        """Answers and the state at that time; None for answers of a missing index, or for a missing state."""
        lines = [line for body in bodies for line in ({"index": live.name}, body)]
        lines += [{"index": self._store.index}, _STATE]
        data = b"".join(_ENCODER.encode(line) + b"\n" for line in lines)
        while True:
            *answers, about = self._server.send_lines("/_msearch", data, _PATIENCE)["responses"]
            if not any(map(_is_to_come, (*answers, about))):
                break
            pauses.wait(EngineUnavailable("the server is too busy to search"))
        missing = [each for each in answers if each.get("status") == 404]
        hits = about.get("hits", {}).get("hits", [])
        state = check_name(decode_state(hits[0]["_source"]), self._store.name) if hits else None
        return (None if missing else [_checked(each, live) for each in answers]), state


def _is_to_come(answer: Json) -> bool:
    """Whether the same search may be answered a little later: the server is busy, or lost a node under it.

    Then a phase of the search has failed, and no shard says why.
    """
    if answer.get("status") in _LATER:
        return True
    error = answer.get("error") or {}
    return error.get("type") == _PHASE_FAILED and not error.get("failed_shards")


def _checked(answer: Json, live: Live) -> Json:
    if "error" in answer:
        error = answer["error"]
        cause = (error.get("root_cause") or [error])[0]
        raise RequestRefused(
            live.name, answer["status"], str(error.get("type", "")), str(cause.get("reason", ""))
        )
    shards = answer["_shards"]
    if shards["failed"] or answer.get("timed_out"):
        raise EngineUnavailable(f"{live.name}: {shards['failed']} of {shards['total']} shards did not answer")
    return answer


def _live_of(state: CatalogState) -> Live | None:
    if not state.live:
        return None
    if state.live not in state.indexes:
        raise CorruptStore(f"the live index {state.live} is not among the indexes of the catalog")
    live = state.indexes[state.live]
    # Aborted sessions that a reader could take for committed; later ones are invisible anyway.
    aborted = tuple(sorted(session for session in live.hidden if session < live.generation))
    return Live(state.live, msgspec.structs.replace(live, begun=0, aborted=aborted, open=()))
