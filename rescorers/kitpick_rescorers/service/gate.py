"""Limits the requests in progress, and the bytes of their bodies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kitpick_rescorers.service.errors import Overloaded, Unready
from kitpick_rescorers.service.ticket import Ticket


class Gate:
    """Limits requests in progress and their bytes. For one event loop; never waits.

    What is refused here was not read: memory stays bounded whatever comes in.
    """

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._tickets: set[Ticket] = set()
        self.bytes = 0
        self.draining = False

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
            self.bytes -= held.count

    def take(self, count: int) -> None:
        """Reserves more bytes.

        Raises:
            Overloaded: other bodies take it.
        """
        if self.bytes + count > self._max_bytes:
            raise Overloaded(f"{self.bytes:,} bytes of requests are under way", retry_after=1)
        self.bytes += count


class HeldBytes:
    """The bytes of one body, or of one answer."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.count = 0

    def grow(self, count: int) -> None:
        """Reserves more bytes, or raises `Overloaded`."""
        self._gate.take(count)
        self.count += count

    def keep(self, count: int) -> None:
        """Reserves more bytes, beyond any limit, so that a finished answer is not discarded."""
        self._gate.bytes += count
        self.count += count
