"""The ticket of a request in progress: its id, its deadline, and whether the client is still there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kitpick_foundation.deadline import Deadline
from kitpick_service.errors import Cancelled, DeadlinePassed, ServiceError
from kitpick_service.keys import NOBODY, Bearer
from kitpick_service.turns import Turn, Turns


class Owner(NamedTuple):
    """Who alone finds what is remembered of requests."""

    key: str
    """Name of a key, or of who its token speaks of."""
    tenant: str = ""
    """That its bearer is of, or speaks for."""


class Ticket:
    """A request in progress, shared by the event loop, the thread that answers and the queues of models.

    A stage that fails leaves the order as it was; `refusal` remembers failures that must fail the request.
    """

    def __init__(self, request_id: str, seconds: float) -> None:
        self.request_id = request_id
        self.bearer: Bearer = NOBODY
        """The API key it came with, or who its token speaks of."""
        self.tenant = ""
        """Whose request it is, where the key is that of a search server and says so."""
        self.started = time.perf_counter()
        self.deadline = self.started + seconds
        self.cancelled = False
        self._reason: ServiceError | None = None
        self.probe = False
        """Whether it only asks if models answer: a row or two, taken whatever waits, and before it."""
        self.refusal: ServiceError | None = None
        self.waited = 0.0
        """Seconds spent in queues."""
        self.in_models = 0.0
        """Seconds for which models worked for it, their queues included."""
        self.query: str | None = None
        """The query, if it may be logged."""
        self.tokens = 0
        """Tokens that models read for it."""
        self.pairs = 0
        """Pairs that the cross-encoder read for it."""
        self.reading = 0.0
        """Seconds that it took for them, its queue included."""
        self.spans: list[tuple[str, float, float]] = []
        """Name, start and end (`perf_counter`) of what took its time, for a trace."""
        self.room: Callable[[int, str], None] | None = None
        """Where its answer makes room for itself; none where the request has no body to count."""
        self._sleeper: threading.Event | None = None
        self._working: Deadline | None = None
        self._turn: Turn | None = None

    @property
    def owner(self) -> Owner:
        """Who alone finds what is remembered of this request. Two keys of one name may be of two tenants."""
        return Owner(self.bearer.name, self.tenant or self.bearer.tenant)

    def spent(self, name: str, start: float, end: float | None = None) -> None:
        """Records what the time since `start` (`perf_counter`) was spent on."""
        self.spans.append((name, start, time.perf_counter() if end is None else end))

    def reserve(self, count: int, what: str) -> None:
        """Makes room for so many bytes of an answer, before they are built; `what` is named if there is none.

        Raises:
            TooLarge, Overloaded: there never is, or not now.
        """
        if self.room is not None:
            self.room(count, what)

    def shorten(self, milliseconds: int | None) -> None:
        """Moves the deadline to this many milliseconds after the start, if that is earlier."""
        if milliseconds is not None:
            self.deadline = min(self.deadline, self.started + milliseconds / 1e3)

    def cancel(self, reason: ServiceError | None = None) -> None:
        """Cancels the request, by default because the caller has disconnected, and wakes its threads."""
        self._reason = self._reason or reason or Cancelled("the caller went away")
        self.cancelled = True
        if self._working is not None:
            self._working.cancel()
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper.set()

    def working(self) -> Deadline:
        """The deadline for stages of a pipeline. It also passes when the caller disconnects."""
        self._working = _Stages(self)
        if self.cancelled:
            self._working.cancel()
        return self._working

    @contextmanager
    def computing(self, turns: Turns) -> Iterator[None]:
        """A context in which this thread computes; beyond a moment, only when it is its turn."""
        self._turn = Turn(turns)
        try:
            yield
        finally:
            self._turn.release()
            self._turn = None

    def pause(self) -> None:
        """Waits for a turn where this thread has computed for long, for as long as the answer is wanted."""
        if self._turn is not None:
            self._turn.take(lambda: self.lapsed() is None)

    @contextmanager
    def waking(self, sleeper: threading.Event) -> Iterator[None]:
        """A context in which this thread waits, and `cancel` sets the event."""
        if self._turn is not None:
            self._turn.release()
        self._sleeper = sleeper
        if self.cancelled:
            sleeper.set()
        try:
            yield
        finally:
            self._sleeper = None

    @property
    def left(self) -> float:
        """Seconds until the deadline, negative after it."""
        return self.deadline - time.perf_counter()

    @property
    def spent_ms(self) -> float:
        """Milliseconds since the start."""
        return (time.perf_counter() - self.started) * 1e3

    def lapsed(self) -> ServiceError | None:
        """Why the answer is not wanted any more, or None."""
        if self._reason is not None:
            return self._reason
        if self.left <= 0:
            return DeadlinePassed(f"not done within {(self.deadline - self.started) * 1e3:.0f} ms")
        return None

    def check(self) -> None:
        """Raises if the answer is not wanted any more. May wait for a turn before it.

        Raises:
            Cancelled, DeadlinePassed, Unready: nobody does, or the process ends.
        """
        self.pause()
        reason = self.lapsed()
        if reason is not None:
            raise reason


class _Stages(Deadline):
    """The deadline of a ticket for the loops of stages, each turn of which may have to wait for its own."""

    def __init__(self, ticket: Ticket) -> None:
        super().__init__(max(0.0, ticket.left))
        self._ticket = ticket

    def check(self, work: str) -> None:
        """Like `Deadline.check`."""
        self._ticket.pause()
        super().check(work)
