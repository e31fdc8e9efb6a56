"""What a caller is told where a server or this one fails: nothing of others, secrets or this machine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from plain_server import UNKNOWN, USUAL, PlainServer
from raw_client import RawClient

from kitpick.catalog import Catalog
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
SECRET = "tok-1234567890"
TALKATIVE = f"""
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params") or {{}}
    if method == "tools/call":
        print("called with", params["arguments"], {SECRET!r}, file=sys.stderr, flush=True)
        if params["name"] == "die":
            sys.exit(3)
    said = {USUAL!r}.get(method, {UNKNOWN!r})
    if "id" in message:
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], **said}}), flush=True)
"""


def with_upstream(ask: Callable[[Any], Awaitable[None]], target: str, *, shared: bool, **config: Any) -> None:
    from kitpick.mcp.config import UpstreamConfig
    from kitpick.mcp.upstream import Upstream

    async def main() -> None:
        async def take_in(_: Any) -> bool:
            return True

        upstream = Upstream(UpstreamConfig("notes", target, **config), take_in, shared=shared)
        async with anyio.create_task_group() as group:
            group.start_soon(upstream.run)
            with anyio.fail_after(240):
                await ask(upstream)
            group.cancel_scope.cancel()

    anyio.run(main)


async def refused(upstream: Any, tool: str, **arguments: Any) -> str:
    from kitpick.mcp.errors import UpstreamFailed

    with pytest.raises(UpstreamFailed) as caught:
        await upstream.call(tool, arguments, None, "bob")
    return str(caught.value)


@pytest.mark.parametrize("shared", [True, False])
def test_what_a_server_wrote_about_one_callers_call_is_told_to_no_other(
    shared: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "server.py").write_text(TALKATIVE)
    target = f"stdio:{shlex.join([sys.executable, '-I', '-S', str(tmp_path / 'server.py')])}"

    async def ask(upstream: Any) -> None:
        await upstream.call("read_note", {"title": "what Alice asks"}, None, "alice")
        said = await refused(upstream, "die")
        assert "Connection closed" in said
        assert ("what Alice asks" in said) is not shared, "whoever is alone is told what it wrote"
        assert SECRET not in said

    with_upstream(ask, target, shared=shared, env={"TOKEN": SECRET})
    assert "what Alice asks" in caplog.text, "the operator is told"
    assert SECRET not in caplog.text


def test_a_server_that_repeats_the_operators_credentials_tells_no_caller() -> None:
    with PlainServer().running() as server:

        async def ask(upstream: Any) -> None:
            said = []
            for repeated in (f"Bearer {SECRET}", SECRET):
                error = {"code": -32000, "message": f"no such token: {repeated}"}
                server.answers["tools/call"] = {"error": error}
                said.append(await refused(upstream, "read_note"))
            assert said == ["the server 'notes' failed: no such token: **********"] * 2

        with_upstream(ask, server.url, shared=True, header_values={"Authorization": f"Bearer {SECRET}"})


@pytest.mark.parametrize("protocol", ["2025-06-18", "2026-07-28"])
def test_an_unforeseen_error_tells_neither_caller_nor_log_its_text(
    protocol: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from starlette.testclient import TestClient

    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.server import CatalogServer

    text = "/srv/secret/catalog.db: what Alice asks"

    def defect(*_: Any, **__: Any) -> None:
        raise OSError(text)

    with Catalog.open(settings=settings) as catalog:
        server = CatalogServer(catalog, McpConfig(), Caller("local"))
        with TestClient(server.app("127.0.0.1"), base_url="http://127.0.0.1:8081") as http:
            monkeypatch.setattr(catalog.engine, "fetch", defect)
            monkeypatch.setattr(catalog, "search", defect)
            call = {"name": "get_definition", "arguments": {"ids": ["a"]}}
            asked = (("tools/call", call), ("tools/list", {"query": "a note"}))
            told = [said(http, protocol, method, **params) for method, params in asked]
    for answer in told:
        assert "a defect of this server; its log has the details" in answer
        assert "Alice" not in answer
    assert "OSError" in caplog.text
    assert "in defect" in caplog.text, "it says where"
    assert "Alice" not in caplog.text


def said(http: Any, protocol: str, method: str, **params: Any) -> str:
    if protocol < "2026":
        return str(RawClient(http, "").say(method, **params).text)
    about = "io.modelcontextprotocol"
    client = {f"{about}/clientInfo": {"name": "t", "version": "1"}, f"{about}/clientCapabilities": {}}
    meta = {f"{about}/protocolVersion": protocol, **client}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": protocol}
    headers |= {"mcp-method": method} | ({"mcp-name": params["name"]} if "name" in params else {})
    return str(http.post("/mcp", json=message, headers=headers).text)
