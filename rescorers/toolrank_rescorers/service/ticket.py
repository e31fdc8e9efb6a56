"""One request under way: how long somebody waits for it, and whether anybody still does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolrank_rescorers.service.errors import Cancelled, DeadlinePassed, ServiceError
from toolrank_rescorers.service.keys import NOBODY


class Ticket:
    """Shared between the event loop, the thread that answers and the queue of a model.

    A stage that fails leaves the order as it was; `refusal` remembers failures that must fail the request.
    """

    def __init__(self, request_id: str, seconds: float) -> None:
        self.request_id = request_id
        self.bearer = NOBODY
        """The API key it came with."""
        self.started = time.perf_counter()
        self.deadline = self.started + seconds
        self.cancelled = False
        self.probe = False
        """Whether it only asks if models answer: a row or two, taken whatever waits, and before it."""
        self.refusal: ServiceError | None = None
        self.waited = 0.0
        """Seconds spent in queues."""
        self.query: str | None = None
        """What was asked, where the log may hold it."""
        self.tokens = 0
        """Tokens that models read for it."""
        self.spans: list[tuple[str, float, float]] = []
        """Name, start and end (`perf_counter`) of what took its time, for a trace."""
        self._sleeper: threading.Event | None = None

    def spent(self, name: str, start: float, end: float | None = None) -> None:
        """Notes what the time since `start` (`perf_counter`) went into."""
        self.spans.append((name, start, time.perf_counter() if end is None else end))

    def shorten(self, milliseconds: int | None) -> None:
        """Brings the deadline forward to so much after the start; never puts it off."""
        if milliseconds is not None:
            self.deadline = min(self.deadline, self.started + milliseconds / 1e3)

    def cancel(self) -> None:
        """The caller went away: wakes whatever waits on its behalf."""
        self.cancelled = True
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper.set()

    @contextmanager
    def waking(self, sleeper: threading.Event) -> Iterator[None]:
        """While it lasts, `cancel` sets the event."""
        self._sleeper = sleeper
        if self.cancelled:
            sleeper.set()
        try:
            yield
        finally:
            self._sleeper = None

    @property
    def left(self) -> float:
        """Seconds until the deadline, negative behind it."""
        return self.deadline - time.perf_counter()

    @property
    def spent_ms(self) -> float:
        """Milliseconds since the start."""
        return (time.perf_counter() - self.started) * 1e3

    def lapsed(self) -> ServiceError | None:
        """Why nobody waits for the answer any more, or None."""
        if self.cancelled:
            return Cancelled("the caller went away")
        if self.left <= 0:
            return DeadlinePassed(f"not done within {(self.deadline - self.started) * 1e3:.0f} ms")
        return None

    def check(self) -> None:
        """Goes on only if somebody waits.

        Raises:
            Cancelled, DeadlinePassed: nobody does.
        """
        reason = self.lapsed()
        if reason is not None:
            raise reason
