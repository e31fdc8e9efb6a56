"""OpenTelemetry traces, if a collector is configured: a span for each request and for each of its parts.

Nothing is sent anywhere else. Spans are made when a request is done, and sent by a separate thread: if a
collector is slow or gone, spans are lost and requests are not affected. No query or document is in them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from kitpick_foundation.errors import MissingExtra
from kitpick_service.ticket import Ticket

_SECONDS = 5.0
"""How long a collector may take to accept a batch."""


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

    def done(self, path: str, status: int, headers: Mapping[str, str], ticket: Ticket) -> None:
        """The span of an answered request and, below it, those that its ticket has.

        `headers` are the caller's: `traceparent` may be among them.
        """
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        epoch = time.time_ns() - time.perf_counter_ns()
        span = self._tracer.start_span(
            f"POST {path}",
            TraceContextTextMapPropagator().extract(headers),
            SpanKind.SERVER,
            {
                "http.request.method": "POST",
                "http.route": path,
                "http.response.status_code": status,
                "kitpick.request_id": ticket.request_id,
                "kitpick.tokens": ticket.tokens,
            },
            start_time=epoch + int(ticket.started * 1e9),
        )
        below = set_span_in_context(span)
        for name, start, end in ticket.spans:
            part = self._tracer.start_span(name, below, start_time=epoch + int(start * 1e9))
            part.end(epoch + int(end * 1e9))
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def close(self) -> None:
        """Sends what is left, and waits for it a little."""
        self._provider.shutdown()
