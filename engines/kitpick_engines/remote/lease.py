"""The lease on a catalog: one writer at a time, on any machine.

The writer raises a counter in the state while it lives. A waiting process takes the lease over if the counter
has stood still for `LEASE_SECONDS` by its own clock, so that clocks need not agree. A writer that lost its
lease in this way cannot commit: its writes belong to a session that is never shown.

Sessions that write different parts of one job, which share no document, run side by side. Each becomes
visible when it ends, and each has its own counter besides the common one.
"""

from __future__ import annotations

import time
import uuid

from msgspec.structs import replace

from kitpick_engines.contract import JobPart
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.state import (
    CatalogState,
    IndexState,
    PartHeld,
    StateStore,
    beaten,
    begin,
    end,
    join,
)

LEASE_SECONDS = 15.0
_BEAT_SECONDS = 2.0
_PAUSE = 0.05

Sign = tuple[str, int]
"""Holder of a lease, and its counter of signs of life."""


class Lease:
    """The lease of one session."""

    def __init__(self, store: StateStore, index: str, patience: float) -> None:
        """Waits until the lease is free, and takes it.

        Raises:
            UnknownIndex: there is no index of this name.
            EngineUnavailable: another writer did not end for `patience` seconds.
        """
        self._store = store
        self._index = index
        self._token = uuid.uuid4().hex
        self._abandoned: Sign | None = None
        state = self._acquire(patience)
        self._beaten = time.monotonic()
        self.before: IndexState = state.index(index)
        """The index when the session began; `begun` is the number of the session."""

    @property
    def session(self) -> int:
        """Number of the session."""
        return self.before.begun

    @property
    def is_alone(self) -> bool:
        """Whether nobody else was writing when this session began."""
        return self.before.open == (self.session,)

    def beat(self) -> None:
        """Renews the lease; to be called between writes.

        Raises:
            EngineUnavailable: the right was lost.
        """
        if time.monotonic() - self._beaten > _BEAT_SECONDS:
            self._store.change(self._beat, refresh=False)
            self._beaten = time.monotonic()

    def commit(self, changed: bool = True) -> CatalogState:
        """Makes everything that the session wrote visible at once; the time of a change is noted with it.

        Raises:
            EngineUnavailable: the right was lost.
        """
        now = time.time() if changed else 0.0
        return self._store.change(
            lambda state: end(self._checked(state), self._index, self.session, commit=True, at=now)
        )

    def abort(self) -> None:
        """Marks the session as aborted, so that its writes never become visible."""
        self._store.change(self._abort)

    def _acquire(self, patience: float) -> CatalogState:
        started = stood = time.monotonic()
        seen: Sign | None = None
        while True:
            state = self._store.change(self._take)
            if self._has(state):
                return state
            now = time.monotonic()
            if self._rival(state) != seen:
                seen, stood = self._rival(state), now
            if now - stood > LEASE_SECONDS:
                self._abandoned = seen
            if now - started > patience:
                raise EngineUnavailable(
                    f"{self._index}: another process is writing to the catalog: wait for it to end"
                )
            time.sleep(_PAUSE)

    def _take(self, state: CatalogState) -> CatalogState:
        state.index(self._index)
        if state.writer in ("", self._token) or self._rival(state) == self._abandoned:
            return begin(state, self._index, self._token)
        return state

    def _rival(self, state: CatalogState) -> Sign:
        """The session that holds the lease."""
        return state.writer, state.beat

    def _has(self, state: CatalogState) -> bool:
        return state.writer == self._token

    def _beat(self, state: CatalogState) -> CatalogState:
        return beaten(self._checked(state), self.session)

    def _abort(self, state: CatalogState) -> CatalogState:
        return end(state, self._index, self.session, commit=False) if self._has(state) else state

    def _checked(self, state: CatalogState) -> CatalogState:
        if not self._has(state):
            raise EngineUnavailable(
                f"{self._index}: another process took over; nothing was changed, try again"
            )
        return state


class PartLease(Lease):
    """The lease of a session that writes one part of a job, beside the sessions of the other parts."""

    def __init__(self, store: StateStore, index: str, part: JobPart, patience: float) -> None:
        self._job = f"job {part.job} in {part.parts} parts"
        self._part = str(part.number)
        super().__init__(store, index, patience)

    def _take(self, state: CatalogState) -> CatalogState:
        state.index(self._index)
        own = PartHeld(self._part, self._token)
        same_part = self._number(state)
        is_free = same_part is None if state.writer == self._job else not state.writer
        if is_free:
            return join(state, self._index, self._job, own)
        if self._has(state) or self._rival(state) != self._abandoned:
            return state
        if same_part is not None:
            state = replace(end(state, self._index, int(same_part), commit=False), writer=self._job)
        return join(state, self._index, self._job, own)

    def _rival(self, state: CatalogState) -> Sign:
        number = self._number(state)
        if number is None:
            return super()._rival(state)
        return state.parts[number].token, state.parts[number].beat

    def _has(self, state: CatalogState) -> bool:
        return any(held.token == self._token for held in state.parts.values())

    def _number(self, state: CatalogState) -> str | None:
        """Number of the session that writes the same part of the same job."""
        if state.writer != self._job:
            return None
        return next((number for number, held in state.parts.items() if held.part == self._part), None)
