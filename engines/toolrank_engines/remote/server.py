"""One way to speak to a search server, whichever client library carries the request.

A server that has too much to do (429, 503) or that cannot be reached is asked again, after a pause that
doubles and has a random part, for as long as the caller's patience lasts. Everything sent through here may
be repeated: writes name their documents, and changes of the state are compared with what was there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from toolrank_engines.errors import EngineError, EngineUnavailable

Body = Mapping[str, Any]
Json = dict[str, Any]

_BUSY = frozenset({429, 502, 503, 504})
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_SHOWN = 300
_ENCODER = msgspec.json.Encoder()


class Unreachable(Exception):
    """No server answered. The text names no secret."""


class Carrier(Protocol):
    """A client library, reduced to one call."""

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        """Status and decoded JSON of any answer, also of one above 299.

        Raises:
            Unreachable: there was no answer.
        """

    def close(self) -> None:
        """Releases connections."""


class Refused(EngineError):
    """The server understood a request and refused it."""

    def __init__(self, where: str, status: int, kind: str, reason: str) -> None:
        super().__init__(f"{where}: {status} {kind}: {reason[:_SHOWN]}{_cure(status)}")
        self.status = status
        self.kind = kind


class Server:
    """Requests to one catalog's server. Safe to use from several threads."""

    def __init__(self, carrier: Carrier, where: str, timeout: float, patience: float) -> None:
        self._carrier = carrier
        self._where = where
        self._timeout = timeout
        self.patience = patience

    def call(self, method: str, path: str, body: Body | None = None, patience: float | None = None) -> Json:
        """The decoded answer.

        Raises:
            Refused: the server refused the request; `status` and `kind` say why.
            EngineUnavailable: it was not reached, or was busy for longer than `patience` seconds.
        """
        data = None if body is None else _ENCODER.encode(body)
        return self._repeat(method, path, data, "application/json", patience)

    def send_lines(self, path: str, lines: bytes, patience: float | None = None) -> Json:
        """Posts newline-delimited JSON. Raises as `call` does."""
        return self._repeat("POST", path, lines, "application/x-ndjson", patience)

    def find(self, method: str, path: str) -> Json | None:
        """As `call`, but None for what is not there."""
        try:
            return self.call(method, path)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def close(self) -> None:
        """Releases connections."""
        self._carrier.close()

    def _repeat(self, method: str, path: str, data: bytes | None, kind: str, patience: float | None) -> Json:
        pauses = Pauses(self.patience if patience is None else patience)
        while True:
            try:
                status, answer = self._carrier.send(method, path, data, kind, self._timeout)
            except Unreachable as error:
                pauses.wait(EngineUnavailable(f"{self._where}: {error}"))
                continue
            if status not in _BUSY or _is_partial(answer):
                return self._checked(status, answer)
            pauses.wait(_busy(self._where, status, answer))

    def _checked(self, status: int, answer: Any) -> Json:  # noqa: ANN401 - whatever the server sent
        if status in (401, 403):
            raise EngineUnavailable(f"{self._where}: {status}: {_reason(answer)}{_cure(status)}")
        if status > 299:
            raise Refused(self._where, status, _kind(answer), _reason(answer))
        if not isinstance(answer, dict):
            raise EngineUnavailable(f"{self._where}: answered something that is no JSON object")
        return answer


class Pauses:
    """Waits between attempts, until the patience is used up."""

    def __init__(self, patience: float) -> None:
        self._until = time.monotonic() + patience
        self._pause = _FIRST_PAUSE

    def wait(self, otherwise: EngineError) -> None:
        """Sleeps a while.

        Raises:
            EngineError: `otherwise`, when there is no time left.
        """
        if time.monotonic() + self._pause > self._until:
            raise otherwise
        time.sleep(self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def _busy(where: str, status: int, answer: Any) -> EngineUnavailable:  # noqa: ANN401 - whatever the server sent
    return EngineUnavailable(f"{where}: {status}: {_reason(answer)}; the server is too busy or not ready")


def _is_partial(answer: Any) -> bool:  # noqa: ANN401 - whatever the server sent
    """An answer with results of its own, whatever the status of the whole."""
    return isinstance(answer, dict) and ("items" in answer or "responses" in answer)


def _error(answer: Any) -> Any:  # noqa: ANN401 - whatever the server sent
    return answer.get("error") if isinstance(answer, dict) else None


def _kind(answer: Any) -> str:  # noqa: ANN401 - whatever the server sent
    error = _error(answer)
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _reason(answer: Any) -> str:  # noqa: ANN401 - whatever the server sent
    error = _error(answer)
    if isinstance(error, dict):
        return str(error.get("reason", ""))[:_SHOWN]
    return str(error if error is not None else "no reason given")[:_SHOWN]


def _cure(status: int) -> str:
    if status == 401:
        return "; set TOOLRANK_ENGINE_USER and TOOLRANK_ENGINE_PASSWORD, or TOOLRANK_ENGINE_API_KEY"
    if status == 403:
        return "; the user lacks a permission: docs/engines.md lists what is needed"
    return ""
