"""A real OpenID provider signs people and programs in; kitpick is told its address of keys, and no more."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from tool_service import serving_tools

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument, encode_document
from kitpick_service.errors import Unauthorized
from kitpick_service.keys import KeyRing
from kitpick_service.tokens import TokenBearer

pytestmark = [pytest.mark.needs("serve", "tokens", "node"), pytest.mark.slow]

HERE, ELSEWHERE = "https://tools.example.com/mcp", "https://mail.example.com/"
ROBOTS = ("RS256", "ES256", "EdDSA")
"""Programs that sign in for themselves, named by the algorithm of their tokens."""
BACK = "http://127.0.0.1:9/back"
"""Where a client waits for its code; nobody has to listen there."""


class OpenIdProvider:
    """A provider's process, and those who sign in to it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._orders, self._said = process, process.stdin, process.stdout
        self.issuer = self._said.readline().strip()
        assert self.issuer.startswith("http://127.0.0.1:"), "the provider did not start"
        discovered = httpx2.get(f"{self.issuer}/.well-known/openid-configuration", timeout=60).json()
        self.jwks = str(discovered["jwks_uri"])
        self._token = str(discovered["token_endpoint"])
        self._sign_in = str(discovered["authorization_endpoint"])

    def order(self, line: str) -> None:
        """Gives an order, and waits until it is done."""
        self._orders.write(line + "\n")
        self._orders.flush()
        assert self._said.readline().strip() == line.split(maxsplit=1)[0]

    def robot(self, name: str = "ES256", resource: str = HERE) -> str:
        """A token by a program's own credentials."""
        return self._tokens(name, grant_type="client_credentials", resource=resource)["access_token"]

    def person(self, name: str) -> dict[str, str]:
        """The tokens of somebody who signs in on the provider's page and agrees there."""
        proof = "p" * 43
        challenge = base64.urlsafe_b64encode(hashlib.sha256(proof.encode()).digest()).decode().rstrip("=")
        asked = {"client_id": "desktop", "response_type": "code", "scope": "openid tools:call"}
        asked |= {"redirect_uri": BACK, "resource": HERE}
        asked |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        with httpx2.Client(timeout=60) as browser:
            page = followed(browser, browser.get(self._sign_in, params=asked))
            for filled in ({"prompt": "login", "login": name, "password": "any"}, {"prompt": "consent"}):
                (submit,) = re.findall(r'<form[^>]* action="([^"]+)"', page.text)
                page = followed(browser, browser.post(submit, data=filled))
        (code,) = parse_qs(urlsplit(page.headers["location"]).query)["code"]
        given = {"code": code, "redirect_uri": BACK, "resource": HERE, "code_verifier": proof}
        return self._tokens("desktop", grant_type="authorization_code", **given)

    def _tokens(self, client: str, **form: str) -> dict[str, str]:
        answer = httpx2.post(self._token, data=form, auth=(client, "secret"), timeout=60)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def stop(self) -> None:
        """Ends it: nobody answers at its address any more."""
        self._process.kill()
        self._process.wait(60)


def followed(browser: httpx2.Client, answer: httpx2.Response) -> httpx2.Response:
    """The page where redirections end, or the one that leads back to the client."""
    while answer.is_redirect and not answer.headers["location"].startswith(BACK):
        answer = browser.get(answer.url.join(answer.headers["location"]))
    assert answer.status_code < 400, answer.text
    return answer


@pytest.fixture
def provider(node_modules: Path, tmp_path: Path) -> Iterator[OpenIdProvider]:
    folder = tmp_path / "provider"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("openid_provider.mjs"), folder)
    (folder / "node_modules").symlink_to(node_modules)
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(["node", "openid_provider.mjs"], cwd=folder, text=True, **streams) as process:
        try:
            yield OpenIdProvider(process)
        finally:
            process.kill()


@pytest.fixture
def keys(provider: OpenIdProvider, tmp_path: Path) -> Path:
    """A file for `--keys` that trusts the provider."""
    path = tmp_path / "keys.toml"
    path.write_text(f"""
[[issuers]]
name = "provider"
issuer = "{provider.issuer}"
audience = ["{HERE}"]
jwks = "{provider.jwks}"
tenant_claim = "org.tenant"
principal_claims = ["groups"]
call_claim = "scope"
call_value = "tools:call"
""")
    return path


@pytest.fixture
def tools(tmp_path: Path) -> str:
    """A catalog of one tool for the staff of one tenant, one for its guests, and one for everybody."""
    seen_by = {"pay": ("acme", ("staff",)), "visit": ("acme", ("guests",)), "look": ("", ())}
    lines = tmp_path / "tools.jsonl"
    lines.write_bytes(
        b"\n".join(
            encode_document(
                ApiDocument(f"s/s/{name}", "s", "", "s", name, "Salaries", tenant=tenant, allowed=allowed)
            )
            for name, (tenant, allowed) in seen_by.items()
        )
    )
    settings = Settings(embedding_cache=tmp_path / "embeddings.db")
    with Catalog.open(f"sqlite:{tmp_path / 'tools.db'}", settings=settings) as catalog:
        catalog.ingest(f"documents:{lines}")
    return f"sqlite:{tmp_path / 'tools.db'}"


def found(url: str, token: str) -> set[str] | int:
    """Names of the tools that a search shows to whom the token belongs; the status of a refusal."""
    headers = {"authorization": f"Bearer {token}"}
    body = {"query": "salaries", "k": 10}
    answer = httpx2.post(f"{url}/v1/tools/search", json=body, headers=headers, timeout=60)
    return {hit["name"] for hit in answer.json()["hits"]} if answer.status_code == 200 else answer.status_code


@pytest.mark.needs("weights", "onnxruntime")
def test_whoever_signed_in_there_finds_what_is_theirs(
    provider: OpenIdProvider, keys: Path, tools: str
) -> None:
    with serving_tools("--keys", str(keys), "--catalog", tools) as url:
        for name in ROBOTS:
            assert found(url, provider.robot(name)) == {"pay", "look"}, name
        bob = provider.person("bob")
        assert found(url, bob["access_token"]) == {"visit", "look"}
        refused = {
            "for another place": provider.robot(resource=ELSEWHERE),
            "about bob, for his client": bob["id_token"],
        }
        provider.order("clock -7200")
        refused["of two hours ago, for one"] = provider.robot()
        provider.order("clock 7200")
        refused["of tomorrow's clock"] = provider.robot()
        for what, token in refused.items():
            assert found(url, token) == 401, what
        provider.stop()
        assert found(url, bob["access_token"]) == {"visit", "look"}, "its keys are known"


def bearer(ring: KeyRing, token: str) -> TokenBearer | None:
    """Who asks, as a service finds out; None for somebody who is refused."""
    asyncio.run(ring.prepare(f"Bearer {token}"))
    try:
        with ring.admit(f"Bearer {token}") as who:
            assert isinstance(who, TokenBearer)
            return who
    except Unauthorized:
        return None


def test_a_person_who_agreed_may_call_and_has_one_name(provider: OpenIdProvider, keys: Path) -> None:
    ring = KeyRing(keys)
    ann, again, bob = (bearer(ring, provider.person(name)["access_token"]) for name in ("ann", "ann", "bob"))
    assert ann is not None
    assert bob is not None
    assert (ann.tenant, ann.principals, ann.may_call) == ("acme", ("staff",), True)
    assert ann == again
    assert ann.name != bob.name
    robot = bearer(ring, provider.robot())
    assert robot is not None
    assert not robot.may_call, "it did not ask for this scope"


def test_new_keys_are_fetched_once_a_minute_and_old_ones_outlive_the_provider(
    provider: OpenIdProvider, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("kitpick_service.key_sets.time", clock)
    ring, late = KeyRing(keys), KeyRing(keys)
    old = provider.robot()
    assert bearer(ring, old)
    provider.order("rotate")
    new = provider.robot()
    assert key_id(new) != key_id(old)
    now[0] += 59
    assert bearer(ring, new) is None, "a minute has to pass between two fetches"
    now[0] += 2
    assert bearer(ring, new)
    assert bearer(ring, old), "the provider shows both"
    provider.order("retire")
    now[0] += 601
    bearer(ring, new)  # old keys serve this request, and are fetched anew behind it
    now[0] += 61
    assert bearer(ring, provider.robot())
    provider.stop()
    now[0] += 80_000
    assert bearer(ring, new), "keys that are known count for a day"
    now[0] += 10_000
    assert bearer(ring, new) is None
    assert bearer(late, new) is None, "nothing is known, and nobody answers"


def key_id(token: str) -> str:
    head = token.partition(".")[0]
    return str(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"])
