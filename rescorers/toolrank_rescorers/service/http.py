"""One HTTP request, from its first byte to its last: keys, limits, deadline, errors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextlib import ExitStack

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from toolrank_rescorers.service.answer import Answer
from toolrank_rescorers.service.body import read_body
from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.dialect import Dialect, Endpoint
from toolrank_rescorers.service.errors import Failure, Invalid, Malformed, failure_of
from toolrank_rescorers.service.logs import log_answer, log_defect
from toolrank_rescorers.service.ticket import Ticket
from toolrank_rescorers.service.traces import Done

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_DEADLINE = "x-deadline-ms"


def handler(service: Service, endpoint: Endpoint, threads: anyio.CapacityLimiter) -> Callable[..., object]:
    """What Starlette calls for a request of this endpoint."""
    decoder = msgspec.json.Decoder(endpoint.request) if endpoint.request is not None else None

    async def handle(request: Request) -> Response:
        ticket = open_ticket(request, service.settings.deadline_seconds)
        try:
            with ExitStack() as stack:
                _admit(stack, service, endpoint, request, ticket)
                body = await _body(stack, service, endpoint, request)
                work = _work(service, endpoint, decoder, body, ticket)
                content = await _while_connected(request, ticket, work, threads)
            response: Response = Answer(content, ticket.request_id, service.gate)
        except Exception as error:  # noqa: BLE001 - whatever happens, the caller gets the dialect's error
            response = failed(endpoint.dialect, error, ticket)
        service.metrics.answered(endpoint.path, response.status_code, ticket.spent_ms / 1e3)
        log_answer(endpoint.path, response.status_code, ticket)
        if endpoint.request is not None:
            service.tracer.done(Done(endpoint.path, response.status_code, request.headers, ticket))
        return response

    return handle


def open_ticket(request: Request, seconds: float) -> Ticket:
    """The ticket of a request: its id, which is the caller's where that is well-formed, and its deadline."""
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
    return json_response(dialect.status(failure), content, ticket.request_id, _retry(failure))


def json_response(
    status: int, content: bytes, request_id: str, headers: dict[str, str] | None = None
) -> Response:
    """JSON, with the id of the request."""
    return Response(
        content, status, {"x-request-id": request_id, **(headers or {})}, media_type="application/json"
    )


def _retry(failure: Failure) -> dict[str, str]:
    return {} if failure.retry_after is None else {"retry-after": str(failure.retry_after)}


def _admit(stack: ExitStack, service: Service, endpoint: Endpoint, request: Request, ticket: Ticket) -> None:
    if endpoint.keyed:
        ticket.bearer = stack.enter_context(service.keys.admit(request.headers.get("authorization", "")))
    if endpoint.request is not None:
        stack.enter_context(service.gate.admit())


async def _body(stack: ExitStack, service: Service, endpoint: Endpoint, request: Request) -> bytes:
    if endpoint.request is None:
        return b""
    held = stack.enter_context(service.gate.hold())
    return await read_body(request, service.settings, held)


def _work(
    service: Service,
    endpoint: Endpoint,
    decoder: msgspec.json.Decoder[object] | None,
    body: bytes,
    ticket: Ticket,
) -> Callable[[], bytes | Exception]:
    """Decoding, answering, encoding, in one thread. A failure is a result: it has a task group to cross."""

    def work() -> bytes | Exception:
        try:
            ticket.check()
            call = decode(decoder, body) if decoder is not None else None
            if service.settings.log_queries:
                ticket.query = getattr(call, "query", None)
            return msgspec.json.encode(endpoint.answer(service, call, ticket))
        except Exception as error:  # noqa: BLE001 - told to the caller by `failed`
            return error

    return work


def decode(decoder: msgspec.json.Decoder[object], body: bytes) -> object:
    """The request that a body holds.

    Raises:
        Invalid: JSON, but not what the endpoint takes.
        Malformed: no JSON, no UTF-8, or nested too deep.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Invalid(str(error)[:500]) from error
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)[:500]) from error


async def _while_connected(
    request: Request, ticket: Ticket, work: Callable[[], bytes | Exception], threads: anyio.CapacityLimiter
) -> bytes:
    """Runs the work in a thread; a caller that leaves cancels the ticket, and so what waits in a queue."""

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
