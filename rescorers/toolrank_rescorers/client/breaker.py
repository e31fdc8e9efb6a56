"""A circuit breaker: a service that fails is left alone, and its callers do not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toolrank_rescorers.client.errors import CircuitOpen


class Breaker:
    """Closed while all is well, open after `failures` in a row; after `rest` seconds one request may try.

    (Nygard, Release It!, 2007.) Safe to use from several threads.
    """

    def __init__(self, failures: int, rest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._rest = rest
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_at = 0.0
        self._trying = False

    def enter(self) -> None:
        """Goes on only if a request may be sent.

        Raises:
            CircuitOpen: it may not.
        """
        with self._lock:
            if self._failures < self._most:
                return
            left = self._closed_at - self._clock()
            if left > 0 or self._trying:
                raise CircuitOpen(
                    f"the rescorer failed {self._failures} times in a row: next try in {max(left, 0):.1f} s"
                )
            self._trying = True

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """One request; one that ends with an exception, whichever, has failed.

        Raises:
            CircuitOpen: it may not be sent.
        """
        self.enter()
        try:
            yield
        except BaseException:
            self.failed()
            raise

    def succeeded(self) -> None:
        """The service answered, whatever it said."""
        with self._lock:
            self._failures, self._trying = 0, False

    def failed(self) -> None:
        """It did not answer, or could not do its work."""
        with self._lock:
            self._failures += 1
            self._trying = False
            if self._failures >= self._most:
                self._closed_at = self._clock() + self._rest
