"""Reads of one committed state.

Every question travels with a look at the catalog's state in the same request. Where the state turns out to be
another than the one that was asked for, the question is asked again: so one round trip is enough as long as
nobody writes, and an answer is never a mixture.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from toolrank_engines.errors import CorruptStore, EngineUnavailable
from toolrank_engines.remote.server import Json, Pauses, Refused, Server
from toolrank_engines.remote.state import CatalogState, IndexState, StateStore, decode_state

_ATTEMPTS = 50
_PATIENCE = 5.0
"""Seconds over which a refused search is tried again: somebody is waiting for the answer."""
_LATER = frozenset({429, 503})
_STATE = {"size": 1, "query": {"match_all": {}}}
_ENCODER = msgspec.json.Encoder()


class Live(NamedTuple):
    """The live index of one committed state."""

    name: str
    state: IndexState


Question = Callable[[Live], Sequence[Json]]
"""Search bodies for a state."""


class Reader:
    """Asks questions of the live index. Safe to use from several threads."""

    def __init__(self, server: Server, store: StateStore) -> None:
        self._server = server
        self._store = store
        self._lock = threading.Lock()
        self._known: CatalogState | None = None

    def remember(self, state: CatalogState | None) -> CatalogState | None:
        """Takes over a state that was just read or written."""
        with self._lock:
            self._known = state
        return state

    def state(self) -> CatalogState | None:
        """The state as it is now, None for a catalog that is not there."""
        now = self._store.load()
        return self.remember(now.state if now else None)

    def ask(self, question: Question) -> tuple[Live, list[Json]] | None:
        """The answers to all searches of a question, of one committed state; None where nothing is live.

        Raises:
            EngineUnavailable: the server is too busy or cannot be reached.
            Refused: the server refused a search.
        """
        pauses = Pauses(_PATIENCE)
        for _ in range(_ATTEMPTS):
            live = self._live()
            if live is None:
                return None
            answers, state = self._send(live, question(live), pauses)
            if answers is not None and state is not None and _live_of(state) == live:
                return live, answers
            self.remember(state)
        raise EngineUnavailable(f"{self._store.index}: the catalog changes faster than it can be read")

    def _live(self) -> Live | None:
        known = self._known or self.state()
        return _live_of(known) if known else None

    def _send(
        self, live: Live, bodies: Sequence[Json], pauses: Pauses
    ) -> tuple[list[Json] | None, CatalogState | None]:
        """Answers and the state meanwhile; None for answers of an index, or a state, that is not there."""
        lines = [line for body in bodies for line in ({"index": live.name}, body)]
        lines += [{"index": self._store.index}, _STATE]
        data = b"".join(_ENCODER.encode(line) + b"\n" for line in lines)
        while True:
            *answers, about = self._server.send_lines("/_msearch", data, _PATIENCE)["responses"]
            busy = [each for each in (*answers, about) if each.get("status") in _LATER]
            if not busy:
                break
            pauses.wait(EngineUnavailable("the server is too busy to search"))
        missing = [each for each in answers if each.get("status") == 404]
        return (None if missing else [_checked(each, live) for each in answers]), _state_of(about)


def _checked(answer: Json, live: Live) -> Json:
    if "error" in answer:
        error = answer["error"]
        cause = (error.get("root_cause") or [error])[0]
        raise Refused(live.name, answer["status"], str(error.get("type", "")), str(cause.get("reason", "")))
    shards = answer["_shards"]
    if shards["failed"] or answer.get("timed_out"):
        raise EngineUnavailable(f"{live.name}: {shards['failed']} of {shards['total']} shards did not answer")
    return answer


def _state_of(answer: Json) -> CatalogState | None:
    hits = answer.get("hits", {}).get("hits", [])
    return decode_state(hits[0]["_source"]) if hits else None


def _live_of(state: CatalogState) -> Live | None:
    if not state.live:
        return None
    if state.live not in state.indexes:
        raise CorruptStore(f"the live index {state.live} is not among the indexes of the catalog")
    index = msgspec.structs.replace(state.indexes[state.live], begun=0, aborted=_counting(state), open=())
    return Live(state.live, index)


def _counting(state: CatalogState) -> tuple[int, ...]:
    """Sessions that a reader could take for committed: later ones are invisible anyway."""
    live = state.indexes[state.live]
    return tuple(sorted(session for session in live.hidden if session < live.generation))
