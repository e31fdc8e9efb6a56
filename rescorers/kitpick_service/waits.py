"""Waits for data that callers have yet to send; when the process stops, they end soon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

_LAST_SECONDS = 0.3
"""How long a caller's bytes are still waited for when the process stops."""


class Waits:
    """The waits of one event loop."""

    def __init__(self) -> None:
        self.draining = False
        self._waits: set[anyio.CancelScope] = set()

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[anyio.CancelScope]:
        """A wait for what a caller has yet to send: cancelled after so long, or soon if the process stops."""
        with anyio.move_on_after(min(seconds, _LAST_SECONDS) if self.draining else seconds) as wait:
            self._waits.add(wait)
            try:
                yield wait
            finally:
                self._waits.discard(wait)

    @property
    def waits(self) -> int:
        """Callers whose bytes are waited for."""
        return len(self._waits)

    def drain(self) -> None:
        """The process is about to stop: requests of which a part is missing are not waited for any more."""
        self.draining = True
        until = anyio.current_time() + _LAST_SECONDS
        for wait in self._waits:
            wait.deadline = min(wait.deadline, until)
