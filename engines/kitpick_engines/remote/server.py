"""Calls to a search server: retries, errors and the interface of client libraries.

If a server has too much to do (429, 503) or cannot be reached, the call is repeated after a pause that
doubles and has a random part, for as long as the caller's patience lasts. Every call may be repeated: writes
name their documents, and changes of the state are compared with the state that was read.
"""

from __future__ import annotations

import random
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from kitpick_engines.contract import Vector
from kitpick_engines.errors import EngineError, EngineUnavailable
from kitpick_foundation.bounded import MoreThanBound

JsonBody = Mapping[str, Any]
Json = dict[str, Any]

_BLOCKED = "cluster_block_exception"
_READ_ONLY = ("read-only", "write (api)")
"""What the reason of a block says that keeps writes away; others: a closed index, no cluster manager yet."""
_BUSY = frozenset({429, 502, 503, 504})
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_SHOWN = 300
_ENCODER = msgspec.json.Encoder()


class ServerUnreachable(Exception):
    """No server answered. The text names no secret."""


class Carrier(Protocol):
    """The interface to a client library: one call."""

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        """Status and decoded JSON of any answer, also of one above 299.

        Raises:
            ServerUnreachable: there was no answer.
            EngineUnavailable: it was too large.
        """

    def close(self) -> None:
        """Releases connections."""


class RequestRefused(EngineError):
    """The server understood a request and refused it."""

    def __init__(self, where: str, status: int, kind: str, reason: str) -> None:
        super().__init__(f"{where}: {status} {kind}: {reason[:_SHOWN]}{_cure(status, reason)}")
        self.status = status
        self.kind = kind


class SearchServer:
    """The search server of one catalog. Safe to use from several threads."""

    def __init__(self, carrier: Carrier, where: str, timeout: float, patience: float) -> None:
        self._carrier = carrier
        self._where = where
        self._timeout = timeout
        self.patience = patience

    def call(
        self, method: str, path: str, body: JsonBody | None = None, patience: float | None = None
    ) -> Json:
        """The decoded answer.

        Raises:
            RequestRefused: the server refused the request; `status` and `kind` say why.
            EngineUnavailable: it was not reached, or was busy for longer than `patience` seconds.
        """
        data = None if body is None else _ENCODER.encode(body)
        return self._repeat(method, path, data, "application/json", patience)

    def send_lines(self, path: str, lines: bytes, patience: float | None = None) -> Json:
        """Posts newline-delimited JSON. Raises as `call` does."""
        return self._repeat("POST", path, lines, "application/x-ndjson", patience)

    def find(
        self, method: str, path: str, body: JsonBody | None = None, patience: float | None = None
    ) -> Json | None:
        """As `call`, but None for what is not there."""
        try:
            return self.call(method, path, body, patience)
        except RequestRefused as error:
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
            except ServerUnreachable as error:
                pauses.wait(EngineUnavailable(f"{self._where}: {error}"))
                continue
            if status not in _BUSY or _is_partial(answer):
                return self._checked(status, answer)
            pauses.wait(_busy(self._where, status, answer))

    def _checked(self, status: int, answer: Any) -> Json:  # noqa: ANN401 - whatever the server sent
        if status in (401, 403):
            kind, reason = _kind(answer), _reason(answer)
            cure = block_cure(kind, reason) if kind == _BLOCKED else _cure(status)
            raise EngineUnavailable(f"{self._where}: {status}: {reason}{cure}")
        if status == 404 and not _is_of_a_search_server(answer):
            raise EngineUnavailable(f"{self._where}: 404: {_STRANGER}")
        if status > 299:
            raise RequestRefused(self._where, status, _kind(answer), _reason(answer))
        if not isinstance(answer, dict):
            raise EngineUnavailable(f"{self._where}: {_STRANGER}")
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


def block_cure(kind: str, reason: str) -> str:
    """How a block is lifted that lets nothing be written; empty for any other error."""
    if kind != _BLOCKED or not any(said in reason for said in _READ_ONLY):
        return ""
    return (
        "; nothing can be written, because the index is read-only. A server does this by itself when its "
        "disk is too full: free space, then PUT INDEX/_settings "
        '{"index.blocks.read_only_allow_delete": null}. '
        "Other blocks (index.blocks.write, cluster.blocks.read_only) were set by somebody, and go likewise"
    )


def unreachable(error: BaseException) -> ServerUnreachable | EngineUnavailable:
    """An error of a client library in words. Its own text is not shown: it may hold what was sent.

    One that would be the same again is an `EngineUnavailable`.
    """
    causes = _causes(error)
    too_large = next((cause for cause in causes if isinstance(cause, MoreThanBound)), None)
    if too_large is not None:
        return EngineUnavailable(f"the answer has {too_large}: is this OpenSearch or Elasticsearch?")
    for kind, words in _UNREACHED:
        if any(isinstance(cause, kind) for cause in causes):
            return ServerUnreachable(words)
    return ServerUnreachable(f"{_STRANGER} ({type(causes[-1]).__name__})")


_STRANGER = "no OpenSearch or Elasticsearch answers there: is the port right, is it with TLS (+https)?"
_UNREACHED: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "the name of the host is not known: is it spelled right?"),
    (ConnectionRefusedError, "nothing listens on this port: is the server running, is the port right?"),
    (ssl.SSLCertVerificationError, "its certificate is not trusted: name the authority's file with ca=FILE"),
    (ssl.SSLError, "no TLS is spoken on this port: leave out +https, or name another port"),
    (
        TimeoutError,
        "no answer in time: is the host up, is a firewall in between, is timeout= long enough?",
    ),
    (OSError, "the connection broke: is the port right, is it with TLS (+https)?"),
)


def _causes(error: BaseException) -> list[BaseException]:
    """The error and all that it was made of; client libraries keep that in several places."""
    found: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, BaseException) or any(each is known for known in found):
            continue
        found.append(each)
        inside = (getattr(each, name, None) for name in ("__cause__", "__context__", "info", "reason"))
        waiting += [*inside, *each.args, *getattr(each, "errors", ())]
    return found


def _is_of_a_search_server(answer: Any) -> bool:  # noqa: ANN401 - whatever the server sent
    """Whether a 404 is about what a search server holds, not about an address that another server lacks."""
    return answer == {} or (isinstance(answer, dict) and not answer.keys().isdisjoint(("status", "found")))


def _busy(where: str, status: int, answer: Any) -> EngineUnavailable:  # noqa: ANN401 - whatever the server sent
    reason = _reason(answer)
    cure = block_cure(_kind(answer), reason) or "; the server is too busy or not ready"
    return EngineUnavailable(f"{where}: {status}: {reason}{cure}")


def _is_partial(answer: Any) -> bool:  # noqa: ANN401 - whatever the server sent
    """Whether an answer has results of its own, whatever the status of the whole."""
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


def _cure(status: int, reason: str = "") -> str:
    if status == 401:
        return "; set KITPICK_ENGINE_USER and KITPICK_ENGINE_PASSWORD, or KITPICK_ENGINE_API_KEY"
    if status == 403:
        return "; the user lacks a permission: docs/engines.md lists what is needed"
    if "max_result_window" in reason:
        default = '{"index.max_result_window": null}'
        return f"; give the index its default of 10,000 again: PUT INDEX/_settings {default}"
    return ""


class ServerDialect(Protocol):
    """The dialect of one kind of server."""

    search_pipelines: bool
    """Whether it has search pipelines, which may name the model of an index."""

    def vector_field(self, dimensions: int) -> Json:
        """Mapping of the vector field."""

    def vector_settings(self) -> Json:
        """Settings of an index that the vector field needs."""

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """The part of a search body that asks for the k of `shown` nearest to a unit vector."""
