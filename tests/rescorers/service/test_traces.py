"""Traces reach a collector that really listens; one that does not costs no request anything."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from waiting import eventually

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve", "traces")
CALL = {
    "query": "my secret wish",
    "candidates": [{"id": "a", "text": "weather"}],
    "profile": "rerank",
}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@contextmanager
def collecting() -> Iterator[tuple[str, list[Any]]]:
    """A collector's address, and the spans that came."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans: list[Any] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_a_request_is_a_span_with_its_parts_below_it(start: Any) -> None:
    with collecting() as (url, spans):
        with start(traces=url) as service:
            service.post("/v1/rescore", CALL, headers={"traceparent": PARENT, "x-request-id": "r1"})
            service.get("/health/ready")
            service.post("/v1/rescore", {"query": 1})
        eventually(lambda: len(spans) >= 5)
    good = next(span for span in spans if span.name == "POST /v1/rescore" and span.parent_span_id)
    assert good.trace_id.hex() == PARENT.split("-")[1]
    assert good.parent_span_id.hex() == PARENT.split("-")[2]
    told = {item.key: item.value for item in good.attributes}
    assert told["kitpick.request_id"].string_value == "r1"
    assert told["http.response.status_code"].int_value == 200
    below = {span.name: span for span in spans if span.parent_span_id == good.span_id}
    models = {f"{what} {model}" for what in ("wait for", "run") for model in ("encoder", "cross_encoder")}
    assert set(below) == models | {"stage fuse", "stage cross_encode"}
    run = below["run cross_encoder"]
    assert good.start_time_unix_nano <= run.start_time_unix_nano < run.end_time_unix_nano
    assert run.end_time_unix_nano <= good.end_time_unix_nano
    assert abs(time.time_ns() - run.end_time_unix_nano) < 600e9
    assert not any("secret" in str(span) or "health" in str(span) for span in spans)
    refused = next(span for span in spans if not span.parent_span_id)
    assert {item.key: item.value.int_value for item in refused.attributes}["http.response.status_code"] == 422


def test_a_collector_that_is_gone_costs_no_request_anything(start: Any) -> None:
    with start(traces="http://127.0.0.1:9/v1/traces") as service:
        assert service.post("/v1/rescore", CALL).status_code == 200
