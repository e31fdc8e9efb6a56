"""Tools of ml-commons: answers as its published REST contract has them, from a small server."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from front import Certificate, make_certificate

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_ingest.definitions import input_schema
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.mcp_endpoint import LiveSettings

LIST = "/_plugins/_ml/mcp/tools/_list"
CONNECTOR = "/_plugins/_ml/connectors/aBc-1/tools"
SCHEMA = {
    "type": "object",
    "properties": {"index": {"type": "string", "description": "Name of an index"}},
    "required": ["index"],
}
MAPPING = {
    "type": "IndexMappingTool",
    "name": "orders_mapping",
    "description": "Shows the fields of an index of orders",
    "parameters": {"index": "orders"},
    "attributes": {"input_schema": SCHEMA, "strict": False},
    "create_time": 1753240166000,
    "last_update_time": 1753240166000,
}
UNNAMED = {"type": "ListIndexTool", "attributes": {"input_schema": json.dumps(SCHEMA)}}
OFFERED = {"name": "ask", "type": "McpStreamableHttpTool", "input_schema": json.dumps(SCHEMA)}


class Cluster:
    """What a cluster answers, by path: status and body; and who asked."""

    def __init__(self, port: int) -> None:
        self.target = f"ml-commons:opensearch://127.0.0.1:{port}"
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, str | None]] = []

    def lists(self, *tools: Any, path: str = LIST) -> None:
        self.answers[path] = 200, json.dumps({"tools": tools}).encode()

    def refuses(self, status: int, error: Any) -> None:
        self.answers[LIST] = status, json.dumps({"error": error, "status": status}).encode()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    for name in ("USER", "PASSWORD", "API_KEY"):
        monkeypatch.delenv(f"KITPICK_ENGINE_{name}", raising=False)
    with serving() as known:
        yield known


@contextmanager
def serving(certificate: Certificate | None = None) -> Iterator[Cluster]:

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append((self.path, self.headers.get("Authorization")))
            nothing = json.dumps({"error": f"no handler found for uri [{self.path}] and method [GET]"})
            status, body = known.answers.get(self.path, (400, nothing.encode()))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that distrusts us
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    known = Cluster(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read(spec: str, live: LiveSettings | None = None) -> list[Any]:
    return list(open_source(spec, name="search", live=live).read())


def only(spec: str) -> ApiDocument:
    (document,) = read(spec)
    assert isinstance(document, ApiDocument)
    return document


def error_of(spec: str, live: LiveSettings | None = None) -> str:
    with pytest.raises(SourceError) as refusal:
        read(spec, live)
    return str(refusal.value)


class TestAToolOfACluster:
    def test_its_type_is_the_tool_and_its_name_the_api(self, cluster: Cluster) -> None:
        cluster.lists(MAPPING)
        found = only(cluster.target)
        assert (found.category, found.tool, found.api) == ("ml-commons", "IndexMappingTool", "orders_mapping")
        assert found.id == "search/IndexMappingTool/orders_mapping"
        assert found.description == MAPPING["description"]
        (given,) = found.parameters
        assert given == Parameter("index", type="string", description="Name of an index", required=True)
        assert json.loads(found.definition) == MAPPING

    def test_without_a_name_it_is_called_by_its_type(self, cluster: Cluster) -> None:
        cluster.lists(UNNAMED)
        found = only(cluster.target)
        assert (found.tool, found.api, found.description) == ("ListIndexTool", "ListIndexTool", "")
        assert [each.name for each in found.parameters] == ["index"], "a schema may be written as text"

    def test_a_connectors_tools_are_listed_by_its_id(self, cluster: Cluster) -> None:
        cluster.lists(OFFERED, path=CONNECTOR)
        found = only(f"{cluster.target}/connectors/aBc-1?timeout=5")
        assert (found.tool, found.api) == ("McpStreamableHttpTool", "ask")
        assert [each.name for each in found.parameters] == ["index"]

    @pytest.mark.parametrize("schema", [SCHEMA, json.dumps(SCHEMA)])
    def test_an_agent_is_shown_the_schema_of_its_inputs(self, cluster: Cluster, schema: Any) -> None:
        """Not the values that were set when it was registered, which the list calls `parameters`."""
        cluster.lists(MAPPING | {"attributes": {"input_schema": schema}})
        assert input_schema(only(cluster.target)) == SCHEMA
        cluster.lists({key: value for key, value in MAPPING.items() if key != "attributes"})
        assert input_schema(only(cluster.target)) == {"type": "object", "properties": {}}
        cluster.lists(OFFERED, path=CONNECTOR)
        assert input_schema(only(f"{cluster.target}/connectors/aBc-1")) == SCHEMA

    def test_a_tool_that_cannot_be_read_is_left_out(self, cluster: Cluster) -> None:
        broken = [{"name": "typeless"}, {"type": "A", "attributes": {"input_schema": "{"}}, 3]
        cluster.lists(MAPPING, *broken, UNNAMED)
        found = read(cluster.target)
        assert [isinstance(each, DeadLetter) for each in found] == [False, True, True, True, False]
        assert found[1].position.endswith(f"{LIST}#/tools/1")
        assert "input_schema is no JSON" in found[2].reason

    def test_a_full_list_may_miss_some_and_says_so(self, cluster: Cluster) -> None:
        cluster.lists(*({**MAPPING, "name": f"n{n}"} for n in range(1_000)))
        *found, last = read(cluster.target)
        assert len(found) == 1_000
        assert isinstance(last, DeadLetter)
        assert "1,000 tools at most" in last.reason

    def test_none_is_none(self, cluster: Cluster) -> None:
        cluster.lists()
        assert read(cluster.target) == []


class TestWhoAsks:
    def test_nobody_unless_somebody_is_named(self, cluster: Cluster) -> None:
        cluster.lists()
        read(cluster.target)
        assert cluster.asked == [(LIST, None)]

    def test_credentials_are_those_of_the_engine(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KITPICK_ENGINE_USER", "reader")
        monkeypatch.setenv("KITPICK_ENGINE_PASSWORD", "päss")
        cluster.lists()
        read(cluster.target)
        ((_, header),) = cluster.asked
        assert header is not None
        assert base64.b64decode(header.removeprefix("Basic ")).decode() == "reader:päss"

    def test_a_password_is_never_shown(self, cluster: Cluster) -> None:
        named = cluster.target.replace("://", "://reader:s3cret@")
        said = error_of(named)
        assert LIST in said
        assert "s3cret" not in said
        assert "s3cret" not in open_source(named).name


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_a_certificate_is_verified_as_the_options_say(tmp_path: Path) -> None:
    made = make_certificate(tmp_path)
    with serving(made) as cluster:
        cluster.lists()
        target = cluster.target.replace("opensearch:", "opensearch+https:")
        assert read(f"{target}?ca={made.certificate}") == []
        assert read(f"{target}?verify=false") == []
        assert "cannot be fetched" in error_of(target)
        assert len(cluster.asked) == 2


class TestWhatIsRefused:
    def test_without_ml_commons_it_says_what_is_needed(self, cluster: Cluster) -> None:
        said = error_of(cluster.target)
        assert "HTTP 400: no handler found for uri" in said
        assert "needs the plugin opensearch-ml" in said

    def test_the_setting_that_switches_it_on_is_named(self, cluster: Cluster) -> None:
        setting = "plugins.ml_commons.mcp_server_enabled"
        what = f"The MCP server is not enabled. To enable, please update the setting {setting}"
        cluster.refuses(500, {"type": "exception", "reason": what})
        assert f'"{setting}": true' in error_of(cluster.target)

    @pytest.mark.parametrize("status", [401, 403])
    def test_who_may_not_ask_is_told_the_permission(self, cluster: Cluster, status: int) -> None:
        cluster.refuses(status, {"reason": "no permissions"})
        said = error_of(cluster.target)
        assert "KITPICK_ENGINE_USER" in said
        assert "cluster:admin/opensearch/ml/mcp_tools/list" in said

    def test_an_answer_that_is_too_large_is_not_parsed(self, cluster: Cluster) -> None:
        cluster.lists(MAPPING)
        assert "larger than 100 bytes" in error_of(cluster.target, LiveSettings(max_answer_bytes=100))

    @pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"tools": 3}', b"{}", b"[" * 9_000])
    def test_an_answer_without_tools_is_none(self, cluster: Cluster, answer: bytes) -> None:
        cluster.answers[LIST] = 200, answer
        assert "cannot be parsed" in error_of(cluster.target)

    @pytest.mark.parametrize(
        "target",
        [
            "elasticsearch://127.0.0.1",
            "opensearch://127.0.0.1?auth=sigv4",
            "opensearch://127.0.0.1/connectors/a%2Fb",
            "opensearch://",
            "https://127.0.0.1:9200",
        ],
    )
    def test_what_names_no_such_cluster(self, target: str) -> None:
        with pytest.raises(UnknownSource, match=r"ml-commons"):
            open_source(f"ml-commons:{target}")

    def test_nobody_answers(self) -> None:
        assert "cannot be fetched" in error_of("ml-commons:opensearch://127.0.0.1:1")


class TestASavedAnswer:
    def test_is_read_and_recognised(self, tmp_path: Path) -> None:
        path = tmp_path / "answer.json"
        path.write_text(json.dumps({"tools": [MAPPING, OFFERED]}), encoding="utf-8")
        for spec in (f"ml-commons:{path}", str(path)):
            found = read(spec)
            assert [each.api for each in found] == ["orders_mapping", "ask"]

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        assert "cannot be read" in error_of(f"ml-commons:{tmp_path / 'none.json'}")


def test_a_source_is_named_after_its_cluster() -> None:
    names = [
        open_source(f"ml-commons:opensearch+https://{place}").name
        for place in ("user:pw@search:9243", "search", "search/connectors/aBc")
    ]
    assert names == ["search:9243", "search", "search/connectors/aBc"]
