"""MCP registries: lists of `server.json`, in files and page by page."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError
from kitpick_ingest.kinds import published
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter

OFFICIAL = "io.modelcontextprotocol.registry/official"
WEATHER = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json",
    "name": "io.github.acme/weather",
    "description": "Forecasts for cities",
    "version": "1.0.2",
    "packages": [{"registryType": "npm", "identifier": "@acme/weather", "transport": {"type": "stdio"}}],
}


def listed(server: dict[str, Any], **said: Any) -> dict[str, Any]:
    return {"server": server, "_meta": {OFFICIAL: {"status": "active", "isLatest": True} | said}}


def documents(spec: str) -> list[ApiDocument]:
    found = list(open_source(spec, name="r").read())
    assert not [item for item in found if isinstance(item, DeadLetter)]
    return [item for item in found if isinstance(item, ApiDocument)]


@pytest.mark.parametrize(
    "content",
    [
        {"servers": [listed(WEATHER)], "metadata": {"count": 1}},
        {"servers": [WEATHER]},
        [WEATHER],
        [listed(WEATHER)],
        WEATHER,
    ],
)
def test_a_server_is_defined_by_its_server_json(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    (document,) = documents(f"registry:{path}")
    assert (document.id, document.category) == ("r/io.github.acme%2Fweather", "server")
    assert (document.tool, document.api, document.version) == ("io.github.acme", "weather", "1.0.2")
    assert json.loads(document.definition) == WEATHER
    assert document.definition in path.read_text(encoding="utf-8"), "byte for byte"
    known = published(document)
    assert known is not None
    assert known[0] == "server"


def test_older_versions_and_deleted_servers_are_passed_over(tmp_path: Path) -> None:
    others = [
        listed(WEATHER | {"name": f"a/{n}"}, **said)
        for n, said in enumerate(({"isLatest": False}, {"status": "deleted"}, {"status": "deprecated"}))
    ]
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"servers": [listed(WEATHER), *others]}), encoding="utf-8")
    first, second = documents(f"registry:{path}")
    assert (first.deprecated, second.api, second.deprecated) == (False, "2", True)


def test_an_entry_that_is_no_server_is_a_dead_letter(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"servers": [1, {"server": {}}, {"name": ""}, WEATHER]}), encoding="utf-8")
    found = list(open_source(f"registry:{path}").read())
    assert [type(item) for item in found] == [DeadLetter, DeadLetter, DeadLetter, ApiDocument]


@pytest.mark.whole
@pytest.mark.parametrize("around", ["{}", '{{"servers": [{}]}}'])
def test_a_registry_of_50_000_servers_is_read(tmp_path: Path, around: str) -> None:
    one = json.dumps(WEATHER)
    servers = (one.replace("acme/weather", f"acme/weather-{number}") for number in range(50_000))
    path = tmp_path / "servers.json"
    path.write_text(around.format(("," if "[" in around else "\n").join(servers)), encoding="utf-8")
    assert len(documents(f"registry:{path}")) == 50_000


@contextmanager
def registry(pages: dict[str, Any]) -> Iterator[str]:
    """A registry that answers with the page of a cursor, at this URL."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            assert asked["limit"] == ["2"]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(pages[asked.get("cursor", [""])[0]]).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v0/servers?limit=2"
    finally:
        server.shutdown()
        server.server_close()


def page(name: str, following: str = "") -> dict[str, Any]:
    return {"servers": [listed(WEATHER | {"name": name})], "metadata": {"nextCursor": following}}


def test_a_registry_is_read_to_its_last_page() -> None:
    with registry({"": page("a/1", "a/1:1 0"), "a/1:1 0": page("a/2", "b"), "b": page("a/3")}) as url:
        assert [document.api for document in documents(f"registry:{url}")] == ["1", "2", "3"]


def test_pages_that_do_not_end_are_an_error() -> None:
    with (
        registry({"": page("a/1", "b"), "b": page("a/2", "b")}) as url,
        pytest.raises(SourceError, match="end"),
    ):
        documents(f"registry:{url}")
