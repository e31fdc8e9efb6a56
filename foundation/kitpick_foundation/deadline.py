"""Deadlines: a point in time at which work ends, or a caller who left."""

from __future__ import annotations

import threading
import time

from kitpick_foundation.errors import FailureKind, KitpickError


class DeadlineExceeded(KitpickError):
    """Work was stopped because its deadline has passed or its caller has left."""

    failure = FailureKind.UNAVAILABLE


class Deadline:
    """A moment on the monotonic clock, and a flag that a caller sets when it leaves. Threads may share one.

    Loops call `check` once per turn; a turn should take milliseconds, not seconds.

    Args:
        seconds: from now; None for no limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._cancelled = threading.Event()

    @property
    def left(self) -> float:
        """Remaining seconds, never negative; infinite without a limit, 0 after `cancel`."""
        if self._cancelled.is_set():
            return 0.0
        return float("inf") if self._until is None else max(0.0, self._until - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed or the caller has left."""
        return self.left <= 0.0

    def cancel(self) -> None:
        """Records that the caller has left; every later `check` raises."""
        self._cancelled.set()

    def wait(self, until: threading.Event) -> None:
        """Waits for the event until the deadline; checks ten times a second."""
        while not self.passed and not until.wait(min(self.left, 0.1)):
            pass

    def check(self, work: str) -> None:
        """Raises if the deadline has passed or the caller has left.

        Args:
            work: what is being done, for the message.

        Raises:
            DeadlineExceeded: the deadline passed, or the caller left.
        """
        if self._cancelled.is_set():
            raise DeadlineExceeded(f"{work}: the caller left")
        if self.passed:
            raise DeadlineExceeded(f"{work}: the deadline passed")


UNLIMITED = Deadline()
"""For callers that wait as long as it takes. Nobody cancels it."""
