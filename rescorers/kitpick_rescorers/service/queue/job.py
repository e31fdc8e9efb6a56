"""The rows of one request in a queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kitpick_models.batching import Row, padded_length
from kitpick_rescorers.service.ticket import Ticket

Array = NDArray[np.float32]


class Job:
    """Rows of one request by padded length, and the numbers that came back. Guarded by the queue's lock."""

    def __init__(self, rows: Sequence[Row], ticket: Ticket, bucket: int) -> None:
        self.rows = rows
        self.ticket = ticket
        self.by_length: dict[int, list[int]] = {}
        for position, row in enumerate(rows):
            self.by_length.setdefault(padded_length(len(row.ids), bucket), []).append(position)
        self.waiting = sum(length * len(members) for length, members in self.by_length.items())
        """Padded tokens that are not yet being processed."""
        self.running = 0
        """Rows that are being worked on."""
        self.due = 0
        """When it should be done, in padded tokens that the queue has worked on."""
        self.finished = threading.Event()
        self.error: Exception | None = None
        self.entered = time.perf_counter()
        self.begun: float | None = None
        self._out: Array | None = None

    def take(self, length: int, most: int) -> list[int]:
        """Takes at most so many rows of this length for processing, and returns their positions."""
        members = self.by_length[length]
        taken, rest = members[:most], members[most:]
        if rest:
            self.by_length[length] = rest
        else:
            del self.by_length[length]
        self.waiting -= length * len(taken)
        self.running += len(taken)
        if self.begun is None:
            self.begun = time.perf_counter()
        return taken

    def put(self, positions: Sequence[int], numbers: Array) -> None:
        """Stores the numbers (n, …) of rows; the last ones finish the job."""
        if self._out is None:
            self._out = np.empty((len(self.rows), *numbers.shape[1:]), np.float32)
        self._out[list(positions)] = numbers
        self.running -= len(positions)
        if self.complete:
            self.finished.set()

    def fail(self, error: Exception) -> None:
        """Ends the job with an error for its caller."""
        self.error = self.error or error
        self.by_length.clear()
        self.waiting = 0
        self.finished.set()

    @property
    def complete(self) -> bool:
        """Whether the numbers of all rows are stored."""
        return self.error is None and not self.by_length and not self.running

    @property
    def numbers(self) -> Array:
        """The numbers of all rows, (n, …).

        Raises:
            Exception: whatever the model raised.
        """
        if self.error is not None:
            raise self.error
        assert self._out is not None, "a job with rows that finished has numbers"
        return self._out
