"""A file on a real web server as a source."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_ingest import fetching
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.mcp_endpoint import LiveSettings

TOOLS = [{"name": "find", "inputSchema": {"type": "object"}}, {"name": 3, "inputSchema": {}}]

_LINES = [json.dumps({"name": f"{number:064x}"}).encode() + b"\n" for number in range(4_000)]
_WHOLE = gzip.compress(b"".join(_LINES))
PACKED = {
    "/packed/parts.jsonl?gzip": gzip.compress(b"".join(_LINES[:100])) + gzip.compress(b"".join(_LINES[100:])),
    "/packed/padded.jsonl?gzip": _WHOLE + b"\0" * 512,
    "/packed/cut.jsonl?gzip": _WHOLE[:-2_000],
    "/packed/unclosed.jsonl?gzip": _WHOLE[:-4],
    "/packed/followed.jsonl?gzip": _WHOLE + b"rubbish",
}


class _Handler(BaseHTTPRequestHandler):
    seen: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        if self.path == "/moved.json":
            self.send_response(302)
            self.send_header("Location", "/tools.json")
            self.end_headers()
            return
        status = {"/gone.json": 404, "/closed.json": 401}.get(self.path.partition("?")[0], 200)
        self.send_response(206 if self.path == "/part.json" else status)
        if self.path == "/short.json":
            self.send_header("Content-Length", "1000")
        if self.path.startswith("/packed"):
            self.send_header("Content-Encoding", self.path.partition("?")[2])
        if self.path == "/login.json":
            self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if self.path == "/drip.json":
            self.drip()
        elif self.path == "/login.json":
            self.wfile.write(b"<html>Please log in</html>")
        elif self.path == "/packed.json?gzip":
            self.wfile.write(gzip.compress(json.dumps({"tools": TOOLS}).encode()))
        elif self.path in PACKED:
            self.wfile.write(PACKED[self.path])
        else:
            self.wfile.write(json.dumps({"tools": TOOLS}).encode())

    def drip(self) -> None:
        for _ in range(1_000):
            self.wfile.write(b" ")
            time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_kind_is_found_out_from_the_content(server: str) -> None:
    document, letter = open_source(f"{server}/tools.json", name="remote").read()
    assert isinstance(document, ApiDocument)
    assert document.id == "remote/remote/find"
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{server}/tools.json#/tools/1"


def test_a_said_kind_needs_no_suffix(server: str) -> None:
    with pytest.raises(SourceError, match=f"^{server}/list: .*"):
        list(open_source(f"toolbench:{server}/list", name="n", live=LiveSettings(total_seconds=0)).read())
    assert len(list(open_source(f"functions:{server}/list", name="n").read())) == 2


def test_headers_are_sent_but_not_to_where_a_redirect_leads(server: str) -> None:
    _Handler.seen.clear()
    settings = LiveSettings(headers={"Authorization": "Bearer secret"})
    assert list(open_source(f"{server}/moved.json", live=settings).read())
    assert _Handler.seen == ["Bearer secret", None]


def test_a_missing_file_stops_the_source(server: str) -> None:
    with pytest.raises(SourceError, match="cannot be fetched"):
        list(open_source(f"{server}/gone.json?key=secret").read())


def test_a_packed_file_is_read_and_one_that_is_not_as_it_says_is_named(server: str) -> None:
    assert len(list(open_source(f"{server}/packed.json?gzip").read())) == 2
    for encoding, reason in (("deflate", "incorrect header"), ("br", "nobody asked for the encoding 'br'")):
        with pytest.raises(SourceError, match=f"^{server}/packed.json: cannot be unpacked: .*{reason}"):
            list(open_source(f"{server}/packed.json?{encoding}").read())


@pytest.mark.parametrize("file", ["parts", "padded"])
def test_every_part_of_a_packed_file_is_read(server: str, file: str) -> None:
    items = list(open_source(f"functions:{server}/packed/{file}.jsonl?gzip").read())
    assert len(items) == len(_LINES)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("packed/cut.jsonl?gzip", "cannot be unpacked: it ends too early"),
        ("packed/unclosed.jsonl?gzip", "cannot be unpacked: it ends too early"),
        ("packed/followed.jsonl?gzip", "cannot be unpacked: Error -3"),
        ("short.json", "is not whole: its server sent only a part of it (fetch it again)"),
        ("part.json", "is not whole: its server sent only a part of it (fetch it again)"),
    ],
)
def test_a_file_that_did_not_come_whole_is_not_read(server: str, file: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        list(open_source(f"functions:{server}/{file}").read())
    assert said in str(caught.value)


def test_few_bytes_do_not_become_many_and_lines_may(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_FETCHED_BYTES", 50)
    for name in ("packed.json?gzip", "tools.json"):
        with pytest.raises(SourceError, match=r"is larger than 50 bytes \(if you trust it, download it"):
            list(open_source(f"functions:{server}/{name}").read())
    assert len(list(open_source(f"functions:{server}/tools.jsonl").read())) == 2, "an API and a dead letter"


@pytest.mark.parametrize(
    ("file", "said"), [("login", "the server sent a web page"), ("closed", "HTTP Error 401")]
)
def test_a_page_to_log_in_is_named_by_its_url_with_the_cure(server: str, file: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        list(open_source(f"{server}/{file}.json").read())
    assert str(caught.value).startswith(f"{server}/{file}.json: ")
    assert said in str(caught.value)
    assert "give credentials with --header" in str(caught.value)
    assert "/kitpick-" not in str(caught.value), "of a file that is gone by now"


@pytest.mark.needs("mcp")
def test_a_file_behind_a_url_without_a_suffix_is_to_be_named_by_its_kind(server: str) -> None:
    with pytest.raises(SourceError, match=r"HTTP 501.*write its kind before it, such as openapi:URL"):
        list(open_source(f"{server}/list").read())


def test_a_server_that_drips_is_given_up(server: str) -> None:
    started = time.monotonic()
    with pytest.raises(SourceError, match="not fetched in time"):
        list(open_source(f"{server}/drip.json", live=LiveSettings(total_seconds=0.5)).read())
    assert time.monotonic() - started < 50


@pytest.mark.parametrize(
    "url", ["https://", "https://[", "http://host:port/x.json", "http://u:secret@h:x/a.json"]
)
def test_a_url_without_a_host_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UnknownSource) as caught:
        open_source(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://ann:secret@host/x.json", "openapi:https://secret@host/x"])
def test_credentials_in_a_url_are_refused_with_the_cure_and_not_shown(url: str) -> None:
    with pytest.raises(UnknownSource, match=r"holds a user or a password.*--header") as caught:
        open_source(url)
    assert "secret" not in str(caught.value)
