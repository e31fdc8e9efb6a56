"""What may be under way at the same time: requests, and bytes of their bodies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolrank_rescorers.service.errors import Overloaded, Unready


class Gate:
    """Lets requests in while there is room. For one event loop; never waits.

    What is refused here was not read: memory stays bounded whatever comes in.
    """

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self.requests = 0
        self.bytes = 0
        self.draining = False

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Room for one request.

        Raises:
            Unready: the process is about to stop.
            Overloaded: there are too many.
        """
        if self.draining:
            raise Unready("this copy is about to stop")
        if self.requests >= self._max_requests:
            raise Overloaded(f"{self.requests} requests are under way", retry_after=1)
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1

    @contextmanager
    def hold(self) -> Iterator[HeldBytes]:
        """Room for a body or an answer, taken as it grows and given back at the end."""
        held = HeldBytes(self)
        try:
            yield held
        finally:
            self.bytes -= held.count

    def take(self, count: int) -> None:
        """Room for so many bytes more.

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
        """So many more, or `Overloaded`."""
        self._gate.take(count)
        self.count += count

    def keep(self, count: int) -> None:
        """So many more, whatever there is: an answer that was worked for is not thrown away."""
        self._gate.bytes += count
        self.count += count
