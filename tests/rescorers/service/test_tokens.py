"""Who asks, by a token that an issuer signed: whom it lets in, and that all others are refused alike."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from token_issuer import AUDIENCE, ISSUER, TokenIssuer, claims, encoded

from kitpick_service.bearers import Bearers, digest
from kitpick_service.errors import InvalidIssuer, InvalidKeyFile, Unauthorized
from kitpick_service.keys import KeyRing, new_key, parse_keys
from kitpick_service.tokens import Issuer, TokenBearer

pytestmark = pytest.mark.needs("tokens")
ENTRY = f"""
[[issuers]]
name = "corp"
issuer = "{ISSUER}"
audience = ["{AUDIENCE}", "another"]
jwks = "keys.json"
tenant_claim = "tenant"
principal_claims = ["groups", "realm.roles", "https://x.org/team"]
call_claim = "scope"
call_value = "tools:call"
operator_claim = "realm.roles"
operator_value = "kitpick-operator"
"""


@pytest.fixture(scope="module")
def login() -> TokenIssuer:
    return TokenIssuer()


def entry(jwks: str, **more: Any) -> Issuer:
    given = {"tenant_claim": "tenant", "principal_claims": ("groups",)} | more
    return Issuer(name="corp", issuer=ISSUER, audience=(AUDIENCE,), jwks=jwks, **given)


def asked(bearers: Bearers[Any], token: str) -> Any:
    """Who it is, asked as the service does."""

    async def ask() -> Any:
        await bearers.prepare(token)
        return bearers.of(token)

    return asyncio.run(ask())


@pytest.fixture
def known(login: TokenIssuer, tmp_path: Path) -> Callable[[str], Any]:
    (tmp_path / "keys.json").write_text(login.key_set())
    bearers: Bearers[Any] = Bearers({}, [entry("keys.json")], tmp_path)
    return lambda token: asked(bearers, token)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_token_of_another_library_is_known(login: TokenIssuer, known: Any, algorithm: str) -> None:
    found = known(login.token(algorithm, groups=["staff", "boss"]))
    assert (found.tenant, found.principals, found.may_call) == ("acme", ("staff", "boss"), False)
    assert known(login.token(algorithm, header={"kid": None})), "the only key of its kind"


def test_a_user_has_one_name_that_does_not_say_who_it_is(login: TokenIssuer, known: Any) -> None:
    names = {sub: known(login.token(sub=sub)).name for sub in ("ann", "bob")}
    assert names["ann"] == known(login.token("RS256", groups=["staff"])).name
    assert len(set(names.values())) == 2
    assert names["ann"].startswith("corp:")
    assert "ann" not in names["ann"]


def tampered(login: TokenIssuer) -> str:
    header, _, signature = login.token().split(".")
    return ".".join((header, login.token(groups=["boss"]).split(".")[1], signature))


def unsigned() -> str:
    parts = ({"alg": "none", "kid": "ec"}, claims())
    return ".".join([*(encoded(json.dumps(part).encode()) for part in parts), ""])


def escaped(login: TokenIssuer, **said: Any) -> str:
    """A token in ASCII, as many issuers write it."""
    return login.signed(json.dumps(claims(**said)).encode())


REFUSED: dict[str, Callable[[TokenIssuer], str]] = {
    "alg none": lambda login: unsigned(),
    "alg none, with a signature": lambda login: unsigned() + login.token().rpartition(".")[2],
    "the public key as a secret": TokenIssuer.confused,
    "expired": lambda login: login.token(exp=int(time.time()) - 31),
    "never expires": lambda login: login.token(exp=None),
    "expires in words": lambda login: login.token(exp="9999999999"),
    "expires at infinity": lambda login: login.signed(
        json.dumps(claims(exp=0)).replace('"exp": 0', '"exp": 1e999').encode()
    ),
    "not valid yet": lambda login: login.token(nbf=int(time.time()) + 40),
    "issued tomorrow": lambda login: login.token(iat=int(time.time()) + 86_400),
    "wrong audience": lambda login: login.token(aud="other"),
    "no audience": lambda login: login.token(aud=None),
    "wrong issuer": lambda login: login.token(iss=ISSUER + "/"),
    "issuer in a list": lambda login: login.token(iss=[ISSUER]),
    "nobody": lambda login: login.token(sub=None),
    "a nameless user": lambda login: login.token(sub=""),
    "unknown key": lambda login: login.token(header={"kid": "other"}),
    "key of another kind": lambda login: login.token(header={"kid": "rsa"}),
    "something critical": lambda login: login.signed(
        json.dumps(claims()).encode(), {"crit": ["b64"], "b64": True}
    ),
    "above 8 KB": lambda login: login.token(groups=["x" * 8_200]),
    "a claim twice": lambda login: login.signed(
        json.dumps(claims()).replace("{", '{"tenant": "other", ', 1).encode()
    ),
    "no tenant": lambda login: login.token(tenant=None),
    "a tenant that is no text": lambda login: login.token(tenant=["acme"]),
    "an empty tenant": lambda login: login.token(tenant=""),
    "a group that is no text": lambda login: login.token(groups=["staff", 1]),
    "half a character as a user": lambda login: escaped(login, sub="ann\ud83d"),
    "half a character as a tenant": lambda login: escaped(login, tenant="\ude00"),
    "half a character as a group": lambda login: escaped(login, groups=["staff", "\ud83d"]),
    "NaN": lambda login: login.signed(json.dumps(claims(x=float("nan"))).encode()),
    "nested too deep": lambda login: login.signed(b'{"x":' + b"[" * 4_000),
    "no object": lambda login: login.signed(b'["iss"]'),
    "changed afterwards": tampered,
    "no token": lambda login: "a.b.c",
    "nothing": lambda login: "",
    "not ASCII": lambda login: login.token() + "é",
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(login: TokenIssuer, known: Any, case: str) -> None:
    assert known(login.token()), "the same issuer is trusted"
    assert known(REFUSED[case](login)) is None


def test_addresses_inside_of_a_token_are_never_asked(login: TokenIssuer, tmp_path: Path) -> None:
    other = TokenIssuer()
    (tmp_path / "keys.json").write_text(login.key_set())
    bearers: Bearers[Any] = Bearers({}, [entry("keys.json")], tmp_path)
    with other.listening() as url:
        header = {"jku": url, "x5u": url, "jwk": other.made["ES256"].as_dict(private=False)}
        assert asked(bearers, other.token(header=header)) is None
        assert other.asked == 0


def test_keys_come_from_the_address_once_and_again_for_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login, now = TokenIssuer(), [1_000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("kitpick_service.key_sets.time", clock)
    with login.listening() as url:
        bearers: Bearers[Any] = Bearers({}, [entry(url)], tmp_path)
        assert login.asked == 0
        assert all(asked(bearers, login.token()) for _ in range(3))
        assert login.asked == 1
        login.rotate()
        now[0] += 59
        assert asked(bearers, login.token()) is None, "a minute has to pass between two fetches"
        now[0] += 2
        assert asked(bearers, login.token())
        assert [asked(bearers, login.token(header={"kid": f"k{n}"})) for n in range(5)] == [None] * 5
        assert login.asked == 2
        now[0] += 100_000
        assert asked(bearers, login.token()), "after a quiet day they are fetched first"
        now[0] += 100_000
        login.answer = b"<html>"
        assert asked(bearers, login.token()) is None, "what could not be fetched for a day is not believed"


def test_fetched_keys_count_on_when_the_key_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while their address does not answer: a key that is added locks nobody out."""
    monkeypatch.setattr("kitpick_service.keys._RECHECK_SECONDS", 0)
    login, file, key = TokenIssuer(), tmp_path / "keys.toml", new_key()

    def lets_in(ring: KeyRing, secret: str) -> bool:
        asyncio.run(ring.prepare(f"Bearer {secret}"))
        with suppress(Unauthorized), ring.admit(f"Bearer {secret}"):
            return True
        return False

    with login.listening() as url:
        file.write_text(ENTRY.replace("keys.json", url))
        ring = KeyRing(file)
        assert lets_in(ring, login.token())
        login.answer = b"<html>"
        file.write_text(file.read_text() + f'[[keys]]\nname = "new"\nsha256 = "{digest(key)}"\n')
        assert lets_in(ring, key)
        assert lets_in(ring, login.token())
        file.write_text(file.read_text().replace(url, f"{url}?other"))
        assert not lets_in(ring, login.token()), "keys of another address are not believed"


@pytest.mark.parametrize("answer", [b"[]", b'{"keys": 1}', b"{" * 9_000, b'{"keys": []}' + b" " * 300_000])
def test_an_address_that_answers_something_else_lets_nobody_in(
    login: TokenIssuer, tmp_path: Path, answer: bytes
) -> None:
    with login.listening() as url:
        login.answer = answer
        try:
            assert asked(Bearers({}, [entry(url)], tmp_path), login.token()) is None
            login.answer = None
            moved = url.replace("/keys", "/moved")
            assert asked(Bearers({}, [entry(moved)], tmp_path), login.token()) is None
        finally:
            login.answer = None


def test_short_and_foreign_keys_of_a_set_are_passed_over(login: TokenIssuer, tmp_path: Path) -> None:
    keys = json.loads(login.key_set())["keys"]
    keys[1]["use"] = "enc"
    odd = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "o"},
        {"kty": "RSA"},
        "text",
        {"kty": "OKP", "crv": "X25519"},
    ]
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [*odd, *keys]}))
    bearers: Bearers[Any] = Bearers({}, [entry("keys.json")], tmp_path)
    assert asked(bearers, login.token("RS256"))
    assert asked(bearers, login.token("ES256")) is None, "that one is for encryption"


def test_an_entry_says_what_claims_mean(login: TokenIssuer, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(login.key_set())
    key = new_key()
    (tmp_path / "file.toml").write_text(f"[[keys]]\nname = 'k'\nsha256 = '{digest(key)}'\n" + ENTRY)
    ring = KeyRing(tmp_path / "file.toml")
    said = {"groups": "staff", "realm": {"roles": ["a", "staff"]}, "https://x.org/team": ["t"]}
    token = login.token(aud=["x", "another"], scope="tools:call openid", **said)
    with ring.admit(f"Bearer {token}") as bearer:
        assert isinstance(bearer, TokenBearer)
        assert (bearer.tenant, bearer.principals) == ("acme", ("staff", "a", "t"))
        assert bearer.may_call
        assert not bearer.speaks_for_others
        assert not bearer.operator
    token = login.token(realm={"roles": ["kitpick-operator"]})
    with ring.admit(f"Bearer {token}") as bearer:
        assert bearer.operator
        assert not bearer.may_call
    with ring.admit(f"bearer {key}") as bearer:
        assert bearer.name == "k"
        assert not bearer.operator


def test_the_entry_in_the_documentation_is_one() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "service.md").read_text("utf-8")
    entry = page.partition("## Signed tokens")[2].partition("```toml\n")[2].partition("```")[0]
    assert parse_keys(entry, "docs/service.md") == {}, "an issuer is enough"
    assert all(f"{name} = " in entry or name == "tenant" for name in Issuer.__struct_fields__)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"jwks": "http://login.example.com/keys"}, "an https:// URL, or a file"),
        ({"jwks": "file:///etc/passwd"}, "an https:// URL, or a file"),
        ({"jwks": "nowhere.json"}, "nowhere.json"),
        ({"tenant": "acme"}, "not both"),
        ({"call_claim": "scope"}, "belong together"),
        ({"operator_value": "admin"}, "`operator_claim` and `operator_value` belong together"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(tmp_path: Path, more: Any, reason: str) -> None:
    with pytest.raises(InvalidIssuer, match=reason):
        Bearers({}, [entry(**{"jwks": "keys.json", **more})], tmp_path)
    with pytest.raises(InvalidKeyFile):
        parse_keys(ENTRY.replace("audience = ", "algorithms = ['HS256']\naudience = "), "keys.toml")


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_the_service_answers_all_refused_tokens_alike_and_logs_nothing_of_them(
    login: TokenIssuer, start: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "keys.json").write_text(login.key_set())
    (tmp_path / "file.toml").write_text(ENTRY)
    call = {"query": "weather", "candidates": []}
    caplog.set_level(logging.DEBUG)
    with start(keys=str(tmp_path / "file.toml")) as service:

        def post(token: str) -> Any:
            return service.post("/v1/rescore", call, headers={b"authorization": b"Bearer " + token.encode()})

        assert post(login.token(sub="somebody@corp")).status_code == 200
        tokens = [token for token in (make(login) for make in REFUSED.values()) if token]
        answers = [post(token) for token in ("wrong", *tokens)]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text.replace(answer.headers["x-request-id"], "") for answer in answers}) == 1
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    parts = {part for token in tokens for part in token.split(".") if len(part) > 8}
    logged = " ".join(str(vars(record)) for record in caplog.records if record.name.startswith("kitpick"))
    assert "corp:" in logged, "the user whose token was good has a name in the log"
    assert not [part for part in (*parts, "somebody") if part in logged]


@pytest.mark.parametrize("jwks", ["https://login.example.com/keys", "/etc/keys.json"])
def test_only_a_relative_path_of_a_key_set_counts_from_a_folder(jwks: str, tmp_path: Path) -> None:
    assert entry(jwks).beside(tmp_path).jwks == jwks
    assert entry("keys.json").beside(tmp_path).jwks == str(tmp_path / "keys.json")
