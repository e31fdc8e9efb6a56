"""Who asks the gateway over HTTP, by a token of an issuer: what they see, and what they are told before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from raw_client import RawClient
from token_issuer import AUDIENCE, ISSUER, TokenIssuer

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_service.keys import digest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp", "tokens")
RESOURCE = "https://tools.example.com/mcp"
TOLD = "https://tools.example.com/.well-known/oauth-protected-resource/mcp"
CONFIG = f"""
resource = "{RESOURCE}"

[[callers]]
name = "script"
sha256 = "{digest("script")}"
principals = ["staff"]

[[issuers]]
name = "corp"
issuer = "{ISSUER}"
audience = ["{AUDIENCE}"]
jwks = "keys.json"
tenant_claim = "tenant"
principal_claims = ["groups"]
call_claim = "scope"
call_value = "tools:call"
"""


class Shelf:
    """A source of one API for the staff of one tenant, and one for everybody."""

    name = "shelf"

    def read(self) -> Iterator[ApiDocument]:
        for name, more in (("pay", {"allowed": ("staff",), "tenant": "acme"}), ("look", {})):
            yield ApiDocument(f"shelf/shelf/{name}", "shelf", "", "shelf", name, "Pays salaries", **more)


@contextmanager
def gateway(folder: Path, settings: Settings, login: TokenIssuer) -> Iterator[Any]:
    """A client of the gateway's HTTP application."""
    from starlette.testclient import TestClient

    from kitpick.mcp.config import Caller, read_config
    from kitpick.mcp.server import CatalogServer

    (folder / "keys.json").write_text(login.key_set())
    (folder / "mcp.toml").write_text(CONFIG)
    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(Shelf())
        server = CatalogServer(catalog, read_config(folder / "mcp.toml"), Caller("local", may_call=True))
        with TestClient(server.app("127.0.0.1"), base_url="http://127.0.0.1:8081") as client:
            yield client


def refused(client: Any, token: str) -> Any:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)


def found(client: Any, token: str) -> set[str]:
    """Names of the tools that a search shows to whom the token belongs."""
    result = RawClient(client, token).call("search_tools", query="pay salaries")
    return {tool["name"] for tool in result["structuredContent"]["tools"]}


def test_tokens_and_keys_show_what_their_bearer_may_see(settings: Settings, tmp_path: Path) -> None:
    login = TokenIssuer()
    with gateway(tmp_path, settings, login) as client:
        assert found(client, login.token(groups=["staff"])) == {"pay", "look"}
        assert found(client, login.token("EdDSA", groups=["others"])) == {"look"}
        assert found(client, login.token(tenant="other", groups=["staff"])) == {"look"}
        assert found(client, "script") == {"look"}, "a key beside it: of the staff, of no tenant"


def test_without_a_valid_token_clients_are_told_alike_where_to_get_one(
    settings: Settings, tmp_path: Path
) -> None:
    login = TokenIssuer()
    with gateway(tmp_path, settings, login) as client:
        tokens = ("", "wrong", login.token(exp=1), login.confused())
        answers = [refused(client, token) for token in tokens]
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.text for answer in answers}) == 1
        (told,) = {answer.headers["www-authenticate"] for answer in answers}
        assert told.endswith(f'resource_metadata="{TOLD}"')
        for path in (TOLD.removeprefix("https://tools.example.com"), "/.well-known/oauth-protected-resource"):
            assert client.get(path).json() == {
                "resource": RESOURCE,
                "authorization_servers": [ISSUER],
                "bearer_methods_supported": ["header"],
            }


def test_who_may_call_is_said_by_a_claim(tmp_path: Path) -> None:
    import anyio

    from kitpick.mcp.callers import Callers
    from kitpick.mcp.config import Caller, read_config

    login = TokenIssuer()
    (tmp_path / "keys.json").write_text(login.key_set())
    (tmp_path / "mcp.toml").write_text(CONFIG)
    callers = Callers(read_config(tmp_path / "mcp.toml"), Caller("local"))
    for scope, may_call in (("openid tools:call", True), ("tools:caller", False), (None, False)):
        known = anyio.run(callers.verify_token, login.token(scope=scope))
        assert known is not None
        assert known.caller.may_call is may_call


def test_issuers_need_the_address_of_this_server(tmp_path: Path) -> None:
    from kitpick.mcp.config import read_config
    from kitpick.mcp.errors import InvalidMcpConfig

    (tmp_path / "mcp.toml").write_text(CONFIG.replace("resource = ", "catalog = "))
    with pytest.raises(InvalidMcpConfig, match="need `resource`"):
        read_config(tmp_path / "mcp.toml")


def test_of_two_tokens_in_one_request_none_counts(settings: Settings, tmp_path: Path) -> None:
    login = TokenIssuer()
    with gateway(tmp_path, settings, login) as client:
        token = login.token(groups=["staff"])
        for tokens in ((token, "script"), ("script", token), ("script", "script"), ("wrong", "script")):
            sent = [("authorization", f"Bearer {each}") for each in tokens]
            answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=sent)
            assert answer.status_code == 401, tokens
        assert refused(client, "script").status_code != 401, "one alone counts"


def test_of_two_credentials_for_a_server_none_is_passed_on() -> None:
    from starlette.requests import Request

    from kitpick.mcp.config import UpstreamConfig
    from kitpick.mcp.credentials import bringing, brought, lacking
    from kitpick.mcp.server import _headers

    upstream = UpstreamConfig("x", "https://x.example/mcp", forward={"X-Token": "Authorization"})
    for tokens, passed_on in ((["mine"], True), (["mine", "theirs"], False)):
        request = Request({"type": "http", "headers": [(b"x-token", each.encode()) for each in tokens]})
        with bringing(_headers(request)):
            assert bool(brought(upstream)) is passed_on
            assert bool(lacking(upstream)) is not passed_on
