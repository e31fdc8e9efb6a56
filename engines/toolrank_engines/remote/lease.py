"""The right to write to a catalog: one session at a time, from whichever machine.

The writer raises a counter in the state while it lives. Who waits takes over a right whose counter has
stood still for `LEASE_SECONDS` by its own clock, so that clocks need not agree. A writer that was taken for
dead and comes back cannot commit: what it wrote belongs to a session that never counts.
"""

from __future__ import annotations

import time
import uuid

from msgspec.structs import replace

from toolrank_engines.errors import EngineUnavailable
from toolrank_engines.remote.state import CatalogState, IndexState, StateStore, begin, end

LEASE_SECONDS = 15.0
_BEAT_SECONDS = 2.0
_PAUSE = 0.05


class Lease:
    """The right of one session."""

    def __init__(self, store: StateStore, index: str, patience: float) -> None:
        """Waits until it has the right.

        Raises:
            UnknownIndex: there is no index of this name.
            EngineUnavailable: another writer did not end for `patience` seconds.
        """
        self._store = store
        self._index = index
        self._token = uuid.uuid4().hex
        self._abandoned: tuple[str, int] | None = None
        state = self._acquire(patience)
        self._beaten = time.monotonic()
        self.before: IndexState = state.index(index)
        """The index when the session began; `begun` is the number of the session."""

    @property
    def session(self) -> int:
        """Number of the session."""
        return self.before.begun

    def beat(self) -> None:
        """Says that the session lives; to be called between writes.

        Raises:
            EngineUnavailable: the right was lost.
        """
        if time.monotonic() - self._beaten > _BEAT_SECONDS:
            self._store.change(self._beat, refresh=False)
            self._beaten = time.monotonic()

    def commit(self) -> CatalogState:
        """Makes everything that the session wrote visible at once.

        Raises:
            EngineUnavailable: the right was lost.
        """
        return self._store.change(lambda state: end(self._checked(state), self._index, commit=True))

    def abort(self) -> None:
        """Makes sure that what the session wrote never counts."""
        self._store.change(self._abort)

    def _acquire(self, patience: float) -> CatalogState:
        started = stood = time.monotonic()
        seen: tuple[str, int] | None = None
        while True:
            state = self._store.change(self._take)
            if state.writer == self._token:
                return state
            now = time.monotonic()
            if (state.writer, state.beat) != seen:
                seen, stood = (state.writer, state.beat), now
            if now - stood > LEASE_SECONDS:
                self._abandoned = seen
            if now - started > patience:
                raise EngineUnavailable(
                    f"{self._index}: another process is writing to the catalog: wait for it to end"
                )
            time.sleep(_PAUSE)

    def _take(self, state: CatalogState) -> CatalogState:
        state.index(self._index)
        if state.writer in ("", self._token) or (state.writer, state.beat) == self._abandoned:
            return begin(state, self._index, self._token)
        return state

    def _beat(self, state: CatalogState) -> CatalogState:
        return replace(self._checked(state), beat=state.beat + 1)

    def _abort(self, state: CatalogState) -> CatalogState:
        return end(state, self._index, commit=False) if state.writer == self._token else state

    def _checked(self, state: CatalogState) -> CatalogState:
        if state.writer != self._token:
            raise EngineUnavailable(
                f"{self._index}: another process took over; nothing was changed, try again"
            )
        return state
