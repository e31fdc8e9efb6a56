"""Handles one HTTP request: keys, limits, deadline, errors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kitpick_foundation.decoding import decoder_of
from kitpick_service.body import read_body
from kitpick_service.calls import decode
from kitpick_service.core import Service
from kitpick_service.dialect import Dialect, Endpoint
from kitpick_service.errors import Failure, failure_of
from kitpick_service.gate import Gate
from kitpick_service.logs import log_answer, log_defect
from kitpick_service.ticket import Ticket

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_DEADLINE = "x-deadline-ms"
_SEARCH_TIME = "x-search-ms"
"""Of answers: what `/health/ready` calls `search_ms`, so that a caller's deadline can follow it."""
_PIECE = 64 * 1024
"""Bytes of an answer that are sent at a time."""


def handler(
    service: Service, endpoint: Endpoint, threads: anyio.CapacityLimiter
) -> Callable[[Request], Awaitable[Response]]:
    """The Starlette handler of an endpoint."""
    decoder = decoder_of(endpoint.request) if endpoint.request is not None else None

    async def handle(request: Request) -> Response:
        ticket = open_ticket(request, service.settings.deadline_seconds)
        try:
            if endpoint.keyed:
                await service.keys.prepare(authorization(request))
            with ExitStack() as stack:
                _admit(stack, service, endpoint, request, ticket)
                body = await _body(stack, service, endpoint, request, ticket)
                work = _work(service, endpoint, decoder, body, request.path_params, ticket)
                content = await _while_connected(request, ticket, work, threads)
            response: Response = GatedResponse(content, ticket.request_id, service.gate)
        except Exception as error:  # noqa: BLE001 - whatever happens, the caller gets the dialect's error
            response = failed(endpoint.dialect, error, ticket)
        if endpoint.request is not None and service.search_seconds:
            response.headers[_SEARCH_TIME] = f"{1e3 * service.search_seconds:.0f}"
        service.metrics.answered(endpoint.path, response.status_code, ticket.spent_ms / 1e3)
        log_answer(endpoint.path, response.status_code, ticket)
        if endpoint.request is not None and service.tracer is not None:
            service.tracer.done(endpoint.path, response.status_code, request.headers, ticket)
        return response

    return handle


def open_ticket(request: Request, seconds: float) -> Ticket:
    """The ticket of a request: its deadline, and its id, which is the caller's if that is well-formed."""
    given = request.headers.get("x-request-id", "")
    ticket = Ticket(given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex, seconds)
    wanted = request.headers.get(_DEADLINE, "")
    if wanted.isdecimal() and len(wanted) < 10:
        ticket.shorten(int(wanted))
    return ticket


def failed(dialect: Dialect, error: BaseException, ticket: Ticket) -> Response:
    """The dialect's answer to a failure; a defect goes to the log with its traceback."""
    failure = failure_of(error)
    if failure.status == 500:
        log_defect(error, ticket)
    content = msgspec.json.encode(dialect.error(failure, ticket.request_id))
    headers = {"x-request-id": ticket.request_id, **_headers(failure)}
    return Response(content, dialect.status(failure), headers, media_type="application/json")


def _headers(failure: Failure) -> dict[str, str]:
    headers = {} if failure.retry_after is None else {"retry-after": str(failure.retry_after)}
    if failure.status == 401:
        headers["www-authenticate"] = "Bearer"
    return headers


def authorization(request: Request) -> str:
    """What `Authorization` says. Of several, such as a proxy's beside a caller's, none is chosen."""
    return ", ".join(request.headers.getlist("authorization"))


def _admit(stack: ExitStack, service: Service, endpoint: Endpoint, request: Request, ticket: Ticket) -> None:
    if endpoint.keyed:
        ticket.bearer = stack.enter_context(service.keys.admit(authorization(request)))
    if endpoint.request is not None:
        stack.enter_context(service.gate.admit(ticket))


async def _body(
    stack: ExitStack, service: Service, endpoint: Endpoint, request: Request, ticket: Ticket
) -> bytes:
    if endpoint.request is None:
        return b""
    held = stack.enter_context(service.gate.hold())
    ticket.room = held.reserve
    body = await read_body(request, service.settings, held)
    if endpoint.turns_away is not None:
        endpoint.turns_away(service, body, ticket)
    return body


def _work(
    service: Service,
    endpoint: Endpoint,
    decoder: msgspec.json.Decoder[object] | None,
    body: bytes,
    path: dict[str, str],
    ticket: Ticket,
) -> Callable[[], bytes | Exception]:
    """Decodes, answers and encodes in one thread. A failure is returned: it has to leave a task group."""

    def work() -> bytes | Exception:
        try:
            with ticket.computing(service.turns):
                ticket.check()
                call = decode(decoder, body) if decoder is not None else path or None
                if service.settings.log_queries:
                    ticket.query = getattr(call, "query", None)
                return msgspec.json.encode(endpoint.answer(service, call, ticket))
        except Exception as error:  # noqa: BLE001 - told to the caller by `failed`
            return error

    return work


async def _while_connected(
    request: Request, ticket: Ticket, work: Callable[[], bytes | Exception], threads: anyio.CapacityLimiter
) -> bytes:
    """Runs work in a thread. If the caller disconnects, the ticket and its work in queues are cancelled."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        ticket.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        outcome = await run_sync(work, limiter=threads)
        group.cancel_scope.cancel()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


class GatedResponse(Response):
    """JSON, with the id of the request.

    Sent in pieces, each waiting for the caller to take the one before: callers that read slowly fill no
    buffers beyond what the gate knows of, and those that stop reading are cut off by the connection.
    """

    media_type = "application/json"

    def __init__(self, content: bytes, request_id: str, gate: Gate) -> None:
        super().__init__(content, headers={"x-request-id": request_id})
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""
        if len(self.body) <= _PIECE:
            await super().__call__(scope, receive, send)
            return
        with self._gate.hold() as held:
            held.keep(len(self.body))
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            for start in range(0, len(self.body), _PIECE):
                piece = bytes(self.body[start : start + _PIECE])
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
