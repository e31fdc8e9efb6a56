"""OpenTelemetry traces, if a collector is configured: a span for each request and for each of its parts.

Nothing is sent anywhere else. Spans are made when a request is done, and sent by a separate thread: if a
collector is slow or gone, spans are lost and requests are not affected. No query or document is in them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kitpick_foundation.errors import MissingExtra
from kitpick_service.ticket import Ticket

_SECONDS = 5.0
"""How long a collector may take to accept a batch."""


class Done(NamedTuple):
    """A request that was answered. `headers` are the caller's: `traceparent` may be among them."""

    path: str
    status: int
    headers: Mapping[str, str]
    ticket: Ticket


class Tracer(Protocol):
    """Receives every answered request."""

    def done(self, request: Done) -> None:
        """One request was answered."""

    def close(self) -> None:
        """Sends what is left."""


class NoTracer:
    """Records nothing."""

    def done(self, request: Done) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class CollectorTracer:
    """Sends spans to a collector, as OTLP over HTTP. Safe to use from several threads."""

    def __init__(self, url: str) -> None:
        """`url` is that of the traces, such as `http://collector:4318/v1/traces`.

        Raises:
            MissingExtra: the packages are not installed.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise MissingExtra("traces", "sending traces") from error
        resource = Resource.create({"service.name": "kitpick-rescorer"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url, timeout=_SECONDS)))
        self._tracer = self._provider.get_tracer("kitpick")

    def done(self, request: Done) -> None:
        """The span of a request and, below it, those that its ticket has."""
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        ticket, epoch = request.ticket, time.time_ns() - time.perf_counter_ns()
        span = self._tracer.start_span(
            f"POST {request.path}",
            TraceContextTextMapPropagator().extract(request.headers),
            SpanKind.SERVER,
            {
                "http.request.method": "POST",
                "http.route": request.path,
                "http.response.status_code": request.status,
                "kitpick.request_id": ticket.request_id,
                "kitpick.tokens": ticket.tokens,
            },
            start_time=epoch + int(ticket.started * 1e9),
        )
        below = set_span_in_context(span)
        for name, start, end in ticket.spans:
            part = self._tracer.start_span(name, below, start_time=epoch + int(start * 1e9))
            part.end(epoch + int(end * 1e9))
        if request.status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def close(self) -> None:
        """Sends what is left, and waits for it a little."""
        self._provider.shutdown()


def tracer_to(url: str) -> Tracer:
    """The tracer of a setting; without a URL nothing is recorded.

    Raises:
        MissingExtra: the packages are not installed.
    """
    return CollectorTracer(url) if url else NoTracer()
