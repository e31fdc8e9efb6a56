"""The state document of a catalog: which index is live, and the last committed session.

It lives in a separate index, `NAME-state`. Every change compares the document's sequence number with the
one that was read, so that of two changes at once one is refused and tried again. The functions at the end say
what the beginning and the end of a session change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import IndexSchema
from kitpick_engines.errors import (
    CorruptStore,
    EngineError,
    EngineUnavailable,
    ForeignState,
    OtherFormat,
    UnknownIndex,
)
from kitpick_engines.remote.server import Json, RequestRefused, SearchServer
from kitpick_foundation.decoding import convert_to

FORMAT = 1
"""Version of the state and of the mapping. A larger one is refused."""
_ATTEMPTS = 100


class IndexState(msgspec.Struct, frozen=True):
    """The committed state of one index. Sessions are numbered from 1."""

    schema: IndexSchema
    generation: int = 0
    """The last session that was committed: what it and those before wrote is visible."""
    begun: int = 0
    """The last session that began."""
    aborted: tuple[int, ...] = ()
    """Sessions up to `begun` that will never be committed: what they wrote does not exist."""
    open: tuple[int, ...] = ()
    """The session that goes on, if one does."""
    changed: float = 0.0
    """When the last session was committed, in seconds since 1970; 0 where nobody wrote that down."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Sessions that are invisible in every generation."""
        return (*self.aborted, *self.open)


class CatalogState(msgspec.Struct, frozen=True):
    """The whole state of a catalog."""

    live: str = ""
    indexes: dict[str, IndexState] = {}
    dropped: tuple[str, ...] = ()
    """Indexes that are still to be deleted."""
    number: int = 0
    """Number of the last index made."""
    writer: str = ""
    """Token of the session that has the right to write; empty when nobody has."""
    beat: int = 0
    """Raised by the writer while it lives."""
    name: str = ""
    """Name of the catalog; empty in a state from before 28 November 2026, until the next session."""
    home: str = ""
    """UUID of the index that holds this state."""
    uuids: dict[str, str] = {}
    """UUIDs of `indexes` and `dropped` by name, as far as they are made: see `ownership`."""
    format: int = FORMAT

    def index(self, name: str) -> IndexState:
        """The state of the index of this name.

        Raises:
            UnknownIndex: there is none.
        """
        if name not in self.indexes:
            raise UnknownIndex(name)
        return self.indexes[name]

    def with_index(self, name: str, index: IndexState, **changes: object) -> CatalogState:
        """A copy in which one index, and other fields, are replaced."""
        return replace(self, indexes={**self.indexes, name: index}, **changes)


def state_index(name: str) -> str:
    """Name of the index that holds the state of a catalog."""
    return f"{name}-state"


def is_named_for(index: str, name: str) -> bool:
    """Whether an index has a name that only this catalog gives."""
    return re.fullmatch(re.escape(name) + r"-apis-[0-9a-f]{12}-\d+", index) is not None


def check_name(state: CatalogState, name: str) -> CatalogState:
    """The state, if it is this catalog's. One from before states said whose they are is known by its indexes.

    Raises:
        ForeignState: it is of a catalog of another name.
    """
    if state.name:
        strange = [state.name] if state.name != name else []
    else:
        strange = [each for each in (*state.indexes, *state.dropped) if not is_named_for(each, name)]
    if strange:
        raise ForeignState(name, f"its state is that of another catalog and names {strange[0]}")
    return state


class Versioned(NamedTuple):
    """A state, with the sequence number for the next change."""

    state: CatalogState
    seq_no: int
    primary_term: int


class StateStore:
    """Reads and changes the state of one catalog."""

    def __init__(self, server: SearchServer, name: str) -> None:
        self._server = server
        self.name = name
        self.index = state_index(name)

    def load(self) -> Versioned | None:
        """As `read`, for a state that is this catalog's."""
        if (found := self.read()) is not None:
            check_name(found.state, self.name)
        return found

    def read(self) -> Versioned | None:
        """Reads the state, also before it can be searched; None for a catalog that does not exist.

        Raises:
            OtherFormat: written by a later version.
            CorruptStore: it is no state.
        """
        answer = self._server.find("GET", f"/{self.index}/_doc/catalog")
        if answer is None or not answer.get("found"):
            return None
        return Versioned(decode_state(answer["_source"]), answer["_seq_no"], answer["_primary_term"])

    def change(self, of: Callable[[CatalogState], CatalogState], refresh: bool = True) -> CatalogState:
        """Applies a change to the state; if another writer was faster, again to the newer state.

        Raises:
            EngineUnavailable: others are always faster.
        """
        for _ in range(_ATTEMPTS):
            now = self.load()
            before = now.state if now else CatalogState()
            after = of(before)
            if (now is not None and after == before) or self.replace(now, after, refresh):
                return after
        raise EngineUnavailable(f"{self.index}: other writers change it all the time; try again")

    def replace(self, now: Versioned | None, state: CatalogState, refresh: bool = True) -> bool:
        """Whether the change was stored. Repeated after a lost answer, it finds its own change."""
        if now is None:
            self._create()
            condition = "op_type=create"
        else:
            condition = f"if_seq_no={now.seq_no}&if_primary_term={now.primary_term}"
        path = f"/{self.index}/_doc/catalog?{condition}&refresh={str(refresh).lower()}"
        try:
            self._server.call("PUT", path, {"format": FORMAT, "state": msgspec.to_builtins(state)})
        except RequestRefused as error:
            if error.status != 409:
                raise
            current = self.read()
            return current is not None and current.state == state
        except EngineUnavailable as error:
            return self._is_stored(state, error)
        return True

    def _is_stored(self, state: CatalogState, error: EngineUnavailable) -> bool:
        """True if a change is there whose answer was lost."""
        try:
            current = self.read()
        except EngineError:
            raise EngineUnavailable(
                f"{error}; whether the change was stored is not known: run it again, it does nothing twice"
            ) from error
        if current is not None and current.state == state:
            return True
        raise error

    def _create(self) -> None:
        body = {
            "settings": {"index": {"number_of_shards": 1, "refresh_interval": "-1", "hidden": True}},
            "mappings": {
                "dynamic": "strict",
                "properties": {
                    "format": {"type": "integer"},
                    "state": {"type": "object", "enabled": False},
                },
            },
        }
        create_index(self._server, self.index, body)


def create_index(server: SearchServer, name: str, body: Json) -> None:
    """Creates an index unless it is there."""
    try:
        server.call("PUT", f"/{name}", body)
    except RequestRefused as error:
        if error.kind != "resource_already_exists_exception":
            raise


def decode_state(source: Json) -> CatalogState:
    """The state in a document's source.

    Raises:
        OtherFormat: written by a later version.
        CorruptStore: it is no state.
    """
    version = source.get("format", 0)
    if version > FORMAT:
        raise OtherFormat(
            f"the catalog has format {version}, this version reads up to {FORMAT}: upgrade kitpick"
        )
    try:
        return convert_to(source["state"], CatalogState)
    except (KeyError, msgspec.ValidationError) as error:
        raise CorruptStore(f"the state of the catalog cannot be read: {error}") from error


_KEPT_ABORTED = 200
"""Aborted sessions that stay listed after a commit: what they wrote is gone, but may still arrive."""


def begin(state: CatalogState, index: str, token: str) -> CatalogState:
    """Gives the lease to a new session; unfinished sessions that held it count as aborted."""
    state.index(index)
    indexes = {name: _without(each, each.open) for name, each in state.indexes.items()}
    number = indexes[index].begun + 1
    indexes[index] = replace(indexes[index], begun=number, open=(*indexes[index].open, number))
    return replace(state, indexes=indexes, writer=token, beat=state.beat + 1)


def beaten(state: CatalogState) -> CatalogState:
    """Renews the lease."""
    return replace(state, beat=state.beat + 1)


def end(state: CatalogState, index: str, session: int, commit: bool, at: float = 0.0) -> CatalogState:
    """Commits a session, `at` some time, or aborts it, and releases the lease."""
    chosen = state.index(index)
    if commit:
        still_open = tuple(number for number in chosen.open if number != session)
        generation, changed = max(chosen.generation, session), max(chosen.changed, at)
        aborted = chosen.aborted[-_KEPT_ABORTED:]  # before it wrote, this session removed what they left
        ended = replace(chosen, generation=generation, aborted=aborted, open=still_open, changed=changed)
    else:
        ended = _without(chosen, (session,))
    return state.with_index(index, ended, writer="")


def _without(index: IndexState, sessions: tuple[int, ...]) -> IndexState:
    aborted = (*index.aborted, *(each for each in sessions if each in index.open))
    return replace(index, aborted=aborted, open=tuple(each for each in index.open if each not in sessions))
