"""Sessions and streams over HTTP: whoever opens many loses those of their own, and nobody else theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from doors import PATIENCE, serving
from raw_client import RawClient

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_service.keys import digest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
CALLERS = "".join(
    f"[[callers]]\nname = '{name}'\nsha256 = '{digest(name)}'\n" for name in ("many", "few", "another")
)


@contextmanager
def gateway(folder: Path, settings: Settings, most: int, callers: str = CALLERS) -> Iterator[Any]:
    """A client of the HTTP application of a gateway in which so many sessions may be open."""
    from starlette.testclient import TestClient

    from kitpick.mcp import sessions
    from kitpick.mcp.config import Caller, read_config
    from kitpick.mcp.server import CatalogServer

    (folder / "mcp.toml").write_text(callers)
    with pytest.MonkeyPatch.context() as patched, Catalog.open(settings=settings) as catalog:
        patched.setattr(sessions, "MOST_SESSIONS", most)
        server = CatalogServer(catalog, read_config(folder / "mcp.toml"), Caller("local"))
        with TestClient(server.app("127.0.0.1"), base_url="http://127.0.0.1:8081") as http:
            yield http


def lives(client: RawClient) -> bool:
    status = client.say("tools/list").status_code
    assert status in (200, 404)
    return bool(status == 200)


def test_whoever_opens_sessions_without_end_loses_their_own_oldest(
    settings: Settings, tmp_path: Path
) -> None:
    with gateway(tmp_path, settings, most=6) as http:
        few = RawClient(http, "few")
        first, *others = [RawClient(http, "many") for _ in range(5)]
        assert lives(first), "it was used after the others were opened"
        another = RawClient(http, "another")
        others += [RawClient(http, "many") for _ in range(2)]
        assert [lives(each) for each in (few, another, first)] == [True] * 3
        assert [lives(each) for each in others] == [False] * 3 + [True] * 3


def test_sessions_that_were_closed_count_no_more(settings: Settings, tmp_path: Path) -> None:
    with gateway(tmp_path, settings, most=2) as http:
        kept = RawClient(http, "many")
        for _ in range(5):
            RawClient(http, "many").close()
        assert lives(kept)


def test_without_callers_all_have_one_bound(settings: Settings, tmp_path: Path) -> None:
    with gateway(tmp_path, settings, most=2, callers="") as http:
        clients = [RawClient(http, "") for _ in range(3)]
        assert [lives(each) for each in clients] == [False, True, True]


def test_streams_of_one_caller_without_end_leave_others_half_of_the_connections(
    catalog: Catalog, tmp_path: Path
) -> None:
    import httpx2

    (tmp_path / "mcp.toml").write_text(f"max_connections = 8\n{CALLERS}")
    with (
        serving("--config", str(tmp_path / "mcp.toml")) as url,
        ExitStack() as streams,
        httpx2.Client(base_url=url.removesuffix("/mcp"), timeout=PATIENCE) as http,
    ):
        sessions = [RawClient(http, "many").headers() for _ in range(6)]
        opened = [streams.enter_context(http.stream("GET", "/mcp", headers=each)) for each in sessions]
        assert [each.status_code for each in opened] == [200] * 4 + [429] * 2
        assert "4 requests of this caller are open" in opened[-1].read().decode()
        assert lives(RawClient(http, "few"))


def test_no_connection_becomes_a_web_socket(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library for them is installed, uvicorn takes it, and the connection is never counted as closed.

    Nobody asks for a token before: so many requests as there may be connections kept everybody out.
    """
    from kitpick.mcp import server
    from kitpick.mcp.config import Caller, McpConfig

    configured: list[Any] = []
    monkeypatch.setattr(server._Uvicorn, "run", lambda self: configured.append(self.config))
    with Catalog.open(settings=settings) as catalog:
        own = server.CatalogServer(catalog, McpConfig(), Caller("local"))
        own.serve_http("127.0.0.1", 0, print)
    (config,) = configured
    assert config.ws == "none"


def test_another_callers_session_cannot_be_used_listened_to_or_ended(
    settings: Settings, tmp_path: Path
) -> None:
    with gateway(tmp_path, settings, most=6) as http:
        theirs = RawClient(http, "few")
        headers = theirs.headers() | {"authorization": "Bearer many"}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for method, body in (("POST", ping), ("GET", None), ("DELETE", None)):
            assert http.request(method, "/mcp", json=body, headers=headers).status_code == 404
        assert lives(theirs)
