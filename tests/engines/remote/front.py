"""What stands before a search server in a company: TLS, users, signatures, and answers that it is too busy.

Passes requests on to a real node, once they are what the front asks for.
"""

from __future__ import annotations

import http.client
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

Check = Callable[[str, str, dict[str, str], bytes], bool]
"""Whether a request (method, path with query, headers in lower case, body) may pass."""


class Certificate(NamedTuple):
    """Of 127.0.0.1, signed by itself: files of the certificate and of its key."""

    certificate: Path
    key: Path


def make_certificate(folder: Path) -> Certificate:
    openssl = shutil.which("openssl")
    assert openssl is not None
    made = Certificate(folder / "front.pem", folder / "front.key")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=front", "-addext", "subjectAltName=IP:127.0.0.1"]
    names = ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return made


class Front:
    """Passes on what is allowed. `busy` lists statuses that the next writes are answered with instead."""

    def __init__(self, node: str, allowed: Check, certificate: Certificate | None) -> None:
        self.node = urlsplit(node).netloc
        self.allowed = allowed
        self.busy: list[int] = []
        self.passed = 0
        self.refused = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that distrusts us
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, content, kind = front.answer(self.command, self.path, headers, body)
                self.send_response(status)
                for name, value in (("content-type", kind), ("content-length", str(len(content)))):
                    self.send_header(name, value)
                self.send_header("X-Elastic-Product", "Elasticsearch")
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815 - names that http.server calls

        return Handler

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str]:
        if not self.allowed(method, path, headers, body):
            self.refused += 1
            return 401, b'{"error": {"type": "security_exception", "reason": "who are you"}}', JSON
        if self.busy and "_bulk" in path:
            self.refused += 1
            return self.busy.pop(), b'{"error": {"type": "too_busy", "reason": "come again"}}', JSON
        self.passed += 1
        connection = http.client.HTTPConnection(self.node, timeout=60)
        try:
            kept = {name: headers[name] for name in ("content-type", "accept") if name in headers}
            connection.request(method, path, body or None, kept)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers.get("content-type", JSON)
        finally:
            connection.close()


JSON = "application/json"


def anybody(*_: object) -> bool:
    return True


@contextmanager
def front(node: str, allowed: Check = anybody, certificate: Certificate | None = None) -> Iterator[Front]:
    """A front before the node at an HTTP address."""
    opened = Front(node, allowed, certificate)
    try:
        yield opened
    finally:
        opened.close()
