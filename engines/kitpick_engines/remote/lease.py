"""The lease on a catalog: one writer at a time, on any machine.

The writer raises a counter in the state while it lives. A waiting process takes the lease over if the counter
has stood still for `LEASE_SECONDS` by its own clock, so that clocks need not agree. A writer that lost its
lease in this way cannot commit: its writes belong to a session that is never shown.
"""

from __future__ import annotations

import time
import uuid

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.state import (
    CatalogState,
    IndexState,
    StateStore,
    beaten,
    begin,
    end,
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
        self.before: IndexState = self._acquire(patience).index(index)
        """The index when the session began; `begun` is the number of the session."""
        self._beaten = time.monotonic()

    @property
    def session(self) -> int:
        """Number of the session."""
        return self.before.begun

    def beat(self) -> None:
        """Renews the lease; to be called between writes.

        Raises:
            EngineUnavailable: the right was lost.
        """
        if time.monotonic() - self._beaten > _BEAT_SECONDS:
            self._store.change(lambda state: beaten(self._checked(state)), refresh=False)
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

    def _abort(self, state: CatalogState) -> CatalogState:
        return end(state, self._index, self.session, commit=False) if self._has(state) else state

    def _checked(self, state: CatalogState) -> CatalogState:
        if not self._has(state):
            raise EngineUnavailable(
                f"{self._index}: another process took over; nothing was changed, try again"
            )
        return state
