"""A client library that fails at one request: it is not sent, its answer is lost, or the process stops."""

from __future__ import annotations

from typing import Any, Literal

from faults import Crash

from kitpick_engines.remote.server import Carrier, unreachable

HowSent = Literal["unsent", "unanswered", "busy", "crash"]


class FaultyCarrier:
    """Counts the requests, and fails at the one of a number; at none for 0. Closes nothing.

    `unsent`: nothing listens. `unanswered`: the server does it, and the connection stalls until the time is
    up. `busy`: the server refuses it for now. `crash`: the process ends, every other time with the request on
    its way; whatever it still sends raises this again.
    """

    def __init__(self, carrier: Carrier, fail_at: int = 0, how: HowSent = "unsent") -> None:
        self.requests: list[str] = []
        self._carrier = carrier
        self._fail_at = fail_at
        self._how = how
        self._crashed = False

    @property
    def failed(self) -> str:
        """The request that failed, empty for none."""
        return self.requests[self._fail_at - 1] if 0 < self._fail_at <= len(self.requests) else ""

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        """As the library does, but for the one."""
        if self._crashed:
            raise Crash
        self.requests.append(f"{method} {path.partition('?')[0]}")
        if len(self.requests) != self._fail_at:
            return self._carrier.send(method, path, body, content_type, timeout)
        if self._how == "unanswered" or (self._how == "crash" and self._fail_at % 2):
            self._carrier.send(method, path, body, content_type, timeout)
        return self._fail()

    def _fail(self) -> tuple[int, Any]:
        if self._how == "crash":
            self._crashed = True
            raise Crash(self.failed)
        if self._how == "busy":
            return 503, {"error": {"type": "busy", "reason": "come again"}}
        raise unreachable(ConnectionRefusedError() if self._how == "unsent" else TimeoutError())

    def close(self) -> None:
        """Leaves the library open for others."""
