"""However much a server sends, and however it is packed, a bound of it is read."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.opening import open_engine
from kitpick_engines.remote import bounded_pool

MOST = 10_000


class _Server(BaseHTTPRequestHandler):
    """Answers what its path says."""

    def do_GET(self) -> None:
        body = b'{"version": "' + b"a" * (MOST - 100) + b'"}'
        if "large" in self.path:
            body = body.replace(b'"}', b"b" * 101 + b'"}')
        elif "packed" in self.path:
            body = b'{"version": "' + b"a" * 100 * MOST + b'"}'
        packed = gzip.compress(body)
        self.send_response(404 if "refused" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        if "packed" in self.path:
            assert len(packed) < MOST
            self.send_header("Content-Encoding", "gzip")
            body = packed
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.fixture(params=["opensearch", "elasticsearch"])
def ask(request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Asks the server through a client library."""
    pytest.importorskip({"opensearch": "opensearchpy"}.get(request.param, request.param))
    monkeypatch.setattr(bounded_pool, "MOST_BYTES", MOST)
    engine = open_engine(f"{request.param}://{server}/catalog?patience=60")
    yield engine.server.call
    engine.close()


def test_an_answer_within_the_bound_is_read(ask) -> None:
    for _ in range(3):
        assert len(ask("GET", "/small")["version"]) == MOST - 100, "connections are used again"


@pytest.mark.parametrize("path", ["/large", "/packed", "/refused-large", "/refused-packed"])
def test_a_larger_one_is_refused_and_not_asked_for_again(ask, path: str) -> None:
    with pytest.raises(EngineUnavailable, match="more than 10,000 bytes"):
        ask("GET", path)
    assert ask("GET", "/small"), "the next call finds a good connection"
