"""Limits the requests in progress, and the bytes of their bodies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kitpick_service.errors import Overloaded, TooLarge, Unready
from kitpick_service.ticket import Ticket
from kitpick_service.waits import Waits


class Gate(Waits):
    """Limits requests in progress, for one event loop, and their bytes, also for its threads; never waits.

    What is refused here was not read: memory stays bounded whatever comes in.
    """

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        super().__init__()
        self._max_requests = max_requests
        self.max_bytes = max_bytes
        self._tickets: set[Ticket] = set()
        self._lock = threading.Lock()
        self.bytes = 0

    @contextmanager
    def admit(self, ticket: Ticket) -> Iterator[None]:
        """Room for one request.

        Raises:
            Unready: the process is about to stop.
            Overloaded: there are too many.
        """
        if self.draining:
            raise Unready("this copy is about to stop")
        if self.requests >= self._max_requests:
            raise Overloaded(f"{self.requests} requests are under way", retry_after=1)
        self._tickets.add(ticket)
        try:
            yield
        finally:
            self._tickets.discard(ticket)

    @property
    def requests(self) -> int:
        """Number of requests in progress."""
        return len(self._tickets)

    def give_up(self) -> None:
        """Cancels the requests in progress; their callers get the error that the process stops."""
        for ticket in tuple(self._tickets):
            ticket.cancel(Unready("this copy stops, and could not finish in time"))

    @contextmanager
    def hold(self) -> Iterator[HeldBytes]:
        """Reserves bytes for a body or an answer as it grows, and releases them at the end."""
        held = HeldBytes(self)
        try:
            yield held
        finally:
            self.change(-held.count)

    def take(self, count: int) -> None:
        """Reserves more bytes.

        Raises:
            Overloaded: other bodies take it.
        """
        with self._lock:
            if self.bytes + count > self.max_bytes:
                raise Overloaded(f"{self.bytes:,} bytes of requests are under way", retry_after=1)
            self.bytes += count

    def change(self, count: int) -> None:
        """Reserves more bytes beyond any limit, or releases them."""
        with self._lock:
            self.bytes += count


class HeldBytes:
    """The bytes of one body, or of one answer."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.count = 0

    def grow(self, count: int) -> None:
        """Reserves more bytes, or raises `Overloaded`."""
        self.gate.take(count)
        self.count += count

    def keep(self, count: int) -> None:
        """Reserves more bytes, beyond any limit, so that a finished answer is not discarded."""
        self.gate.change(count)
        self.count += count

    def reserve(self, count: int, what: str) -> None:
        """Reserves the bytes of an answer before it is built.

        Raises:
            TooLarge: they would never fit, however little others ask for.
            Overloaded: others take the room.
        """
        if self.count + count > self.gate.max_bytes:
            most = self.gate.max_bytes
            raise TooLarge(
                f"about {count:,} bytes of answer, of at most {most:,} (max_waiting_bytes): {what}"
            )
        self.grow(count)
