"""Turns for requests that compute for long, so that short ones beside them find a core.

Documents are read, and stages run, in the thread of their request: dozens of threads that decode for half a
minute each would leave everybody else a sliver of the processor. So a request that has computed for more than
a moment goes on only while it has a turn. There are few turns, and each is for a slice of time; the next one
goes to whoever has computed least (Corbató et al., An Experimental Time-Sharing System, 1962). Models come
first: while somebody waits for one of them, a slice is followed by a longer rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_SHORT_SECONDS = 0.25
"""Seconds of processor time that a request may use in its thread without a turn."""
_SLICE_SECONDS = 0.05
"""Seconds of processor time that a turn lasts while others wait."""
_REST_SECONDS = 0.15
"""Longest rest after a turn while models are busy: a long computation then gets a quarter of a core."""
_LOOK_SECONDS = 0.1
"""Seconds after which a waiting request checks whether its answer is still wanted."""


class Turns:
    """The turns of one process. Safe to use from several threads."""

    def __init__(self, count: int, models_busy: Callable[[], bool] = lambda: False) -> None:
        self._count = count
        self._models_busy = models_busy
        self._changed = threading.Condition()
        self._holding: set[Turn] = set()
        self._waiting: set[Turn] = set()

    @property
    def waiting(self) -> int:
        """Requests that wait for a turn."""
        with self._changed:
            return len(self._waiting)

    def take(self, turn: Turn, wanted: Callable[[], bool]) -> None:
        """Returns when the request has a turn, or when its answer is not wanted any more."""
        with self._changed:
            if turn in self._holding:
                if turn.spent < turn.until:
                    return
                self._rest(wanted)
                self._holding.discard(turn)
            self._waiting.add(turn)
            self._changed.notify_all()
            while not (free := self._is_next(turn)) and wanted():
                self._changed.wait(_LOOK_SECONDS)
            self._waiting.discard(turn)
            if free:
                self._holding.add(turn)
                turn.until = turn.spent + _SLICE_SECONDS

    def release(self, turn: Turn) -> None:
        """Leaves the turn to others, if the request has it."""
        with self._changed:
            if turn in self._holding:
                self._holding.discard(turn)
                self._changed.notify_all()

    def _rest(self, wanted: Callable[[], bool]) -> None:
        """Keeps the turn from others, too."""
        until = time.monotonic() + _REST_SECONDS
        while (left := until - time.monotonic()) > 0 and self._models_busy() and wanted():
            self._changed.wait(min(left, _LOOK_SECONDS))

    def _is_next(self, turn: Turn) -> bool:
        free = self._count - len(self._holding)
        return free > 0 and turn.spent <= min(other.spent for other in self._waiting)


class Turn:
    """What one request has computed, and its place among the others. Used by the thread of the request."""

    def __init__(self, turns: Turns, clock: Callable[[], float] = time.thread_time) -> None:
        self._turns = turns
        self._clock = clock
        self._began = clock()
        self.spent = 0.0
        """Seconds of processor time so far."""
        self.until = 0.0
        """At so many seconds of `spent`, its turn may go to another."""

    def take(self, wanted: Callable[[], bool]) -> None:
        """Waits for a turn if the request has computed for long, while its answer is wanted; called often."""
        self.spent = self._clock() - self._began
        if self.spent > _SHORT_SECONDS:
            self._turns.take(self, wanted)

    def release(self) -> None:
        """Leaves the turn to others: the request ends, or waits for something else than the processor."""
        self._turns.release(self)
