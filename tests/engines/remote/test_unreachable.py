"""What stands in the way to a server is said in words."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from node_process import free_port

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import RequestRefused, block_cure, unreachable
from kitpick_engines.remote.setup import detect

KINDS = ("opensearch", "elasticsearch")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip({"opensearch": "opensearchpy"}.get(request.param, request.param))
    return str(request.param)


class _Stranger(BaseHTTPRequestHandler):
    """A web server: it has a start page, and nothing else."""

    body = b"<html>Welcome</html>"
    kind = "text/html"

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", self.kind)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


class _StrangeApi(_Stranger):
    body = b'{"detail": "Not Found"}'
    kind = "application/json"


@pytest.fixture(params=[_Stranger, _StrangeApi])
def stranger(request: pytest.FixtureRequest) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), request.param) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def refusals(kind: str, host: str, tls: str = "") -> Iterator[str]:
    """What two ways to begin say of a host."""
    with closing(open_engine(f"{kind}{tls}://{host}/x?patience=0&timeout=5")) as engine:
        assert isinstance(engine, RemoteEngine)
        with pytest.raises(EngineUnavailable) as looked_at:
            detect(engine.server)
        yield str(looked_at.value)
        with pytest.raises(EngineUnavailable) as searched:
            engine.live()
        yield str(searched.value)


def test_a_port_on_which_nothing_listens(kind: str) -> None:
    assert all("nothing listens on this port" in said for said in refusals(kind, f"127.0.0.1:{free_port()}"))


def test_a_port_of_something_else(kind: str, stranger: str) -> None:
    for said in refusals(kind, stranger):
        assert "no OpenSearch or Elasticsearch answers there: is the port right" in said


def test_a_port_without_tls(kind: str, stranger: str) -> None:
    assert all("no TLS is spoken on this port" in said for said in refusals(kind, stranger, "+https"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (socket.gaierror(-2, "Name or service not known"), "name of the host is not known"),
        (TimeoutError("timed out"), "no answer in time"),
        (ConnectionResetError("secret"), "connection broke"),
        (ValueError("secret"), "no OpenSearch"),
    ],
)
def test_errors_are_named_by_what_they_were_made_of_and_show_nothing_that_was_sent(
    error: Exception, said: str
) -> None:
    wrapped = RuntimeError("secret", error)
    wrapped.__cause__ = error
    assert said in str(unreachable(wrapped))
    assert "secret" not in str(unreachable(wrapped))


@pytest.mark.parametrize(
    ("reason", "is_cured"),
    [
        ("index [x] blocked by: [FORBIDDEN/8/index write (api)];", True),
        ("index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has "
         "read-only-allow-delete block];", True),
        ("blocked by: [FORBIDDEN/6/cluster read-only (api)];", True),
        ("index [x] blocked by: [FORBIDDEN/4/index closed];", False),
        ("blocked by: [SERVICE_UNAVAILABLE/1/state not recovered / initialized];", False),
    ],
)  # fmt: skip
def test_only_blocks_of_writes_are_taken_for_such(reason: str, is_cured: bool) -> None:
    assert bool(block_cure("cluster_block_exception", reason)) is is_cured
    assert block_cure("security_exception", reason) == ""


def test_a_window_that_is_too_small_is_named_with_its_cure() -> None:
    said = "Result window is too large, from + size must be less than or equal to: [100] but was [144]. "
    said += "This limit can be set by changing the [index.max_result_window] index level setting."
    refused = RequestRefused("tools-apis-1", 400, "illegal_argument_exception", said)
    assert '{"index.max_result_window": null}' in str(refused)
    assert "max_result_window" not in str(RequestRefused("x", 400, "parsing_exception", "no such field"))
