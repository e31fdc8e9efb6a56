"""Signed tokens of users, and every way in which one can be wrong, each with what it must get.

Two issuers sign: one for the tenant that a claim names, one for tenant `other` alone. The hostile caller has
tokens of both that were right once, or that are right for somebody else. A token that is wrong in any way
gets 401 at every door; one that is right shows what its own tenant may see, and never what only acme may.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hostile.cases import DONE, Case, body

ISSUER, OTHER, AUDIENCE = "https://login.example", "https://login.other.example", "kitpick"
ENTRIES = f"""
[[issuers]]
name = "login"
issuer = "{ISSUER}"
audience = ["{AUDIENCE}"]
jwks = "login.json"
tenant_claim = "tenant"
principal_claims = ["groups"]

[[issuers]]
name = "login of other"
issuer = "{OTHER}"
audience = ["{AUDIENCE}"]
jwks = "other.json"
tenant = "other"
"""
UNKNOWN = frozenset({401})
DOORS = {
    "/v1/tools/search": body(query="open the vault"),
    "/v1/tools/feedback": body(answer="open the door", chosen=["no/such/api"]),
    "/v1/rescore": body(query="x", candidates=[{"id": "a", "text": "b"}]),
    "/v1/search": b"{}",
}
"""What is sent to each: feedback about no API and an empty search are refused to those who are known, too."""
_RIGHT = dict(zip(DOORS, (DONE, frozenset({422}), DONE, frozenset({400, 422})), strict=True))
Json = dict[str, Any]


def encoded(data: bytes) -> str:
    """Base64 as tokens have it."""
    return urlsafe_b64encode(data).decode().rstrip("=")


@dataclass(frozen=True)
class Signer:
    """An issuer with one key."""

    issuer: str
    key_id: str
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public(self) -> bytes:
        """The public key."""
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def key_set(self) -> str:
        """The public key as a JSON Web Key Set."""
        key = {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": self.key_id, "x": encoded(self.public)}
        return json.dumps({"keys": [key]})

    def claims(self, **more: object) -> Json:
        """Claims that are valid for an hour; None takes one away."""
        now = int(time.time())
        said = {"iss": self.issuer, "aud": AUDIENCE, "sub": "eve", "tenant": "other", "exp": now + 3_600}
        return {name: value for name, value in (said | more).items() if value is not None}

    def token(self, claims: Json | str, **header: object) -> str:
        """A token that this key signed, whatever its header says; None takes a name away."""
        named = {"alg": "EdDSA", "kid": self.key_id} | header
        head = json.dumps({name: value for name, value in named.items() if value is not None})
        payload = claims if isinstance(claims, str) else json.dumps(claims)
        signed = f"{encoded(head.encode())}.{encoded(payload.encode())}"
        return f"{signed}.{encoded(self.key.sign(signed.encode()))}"


LOGIN, LOGIN_OF_OTHER = Signer(ISSUER, "one"), Signer(OTHER, "two")


def write_issuers(folder: Path) -> str:
    """Writes the key sets into a folder; the entries for the file of keys beside them."""
    (folder / "login.json").write_text(LOGIN.key_set)
    (folder / "other.json").write_text(LOGIN_OF_OTHER.key_set)
    return ENTRIES


def good_tokens() -> Iterator[tuple[str, str]]:
    """Tokens of tenant `other` that are right: what acme sees is not theirs, whatever else they claim."""
    yield "a good one", LOGIN.token(LOGIN.claims())
    yield "without a key id", LOGIN.token(LOGIN.claims(), kid=None)
    yield "of two audiences", LOGIN.token(LOGIN.claims(aud=["elsewhere", AUDIENCE]))
    yield "with groups of acme", LOGIN.token(LOGIN.claims(groups=["acme", "admin", "*", "operator"]))
    yield "of the other issuer, claiming acme", LOGIN_OF_OTHER.token(LOGIN_OF_OTHER.claims(tenant="acme"))
    for name in ("ACME", "acme ", " acme", "acme\x00", "acm\u0435", "acme/../acme", "other\nacme", "*"):
        yield f"of a tenant that looks like acme: {name!r}", LOGIN.token(LOGIN.claims(tenant=name))


def bad_tokens() -> Iterator[tuple[str, str]]:
    """Tokens that nobody may use."""
    yield from _times()
    yield from _names()
    yield from _signatures()
    yield from _keys()
    yield from _shapes()


def _times() -> Iterator[tuple[str, str]]:
    now = int(time.time())
    wrong: dict[str, object] = {
        "expired": now - 3_600,
        "expired long ago": 1,
        "before all time": -1,
        "a text": str(now + 3_600),
        "a list": [now + 3_600],
        "no number": "NaN",
        "an object": {},
        "true": True,
        "missing": None,
    }
    for name, value in wrong.items():
        yield f"end is {name}", LOGIN.token(LOGIN.claims(exp=value))
    for name, value in {"tomorrow": now + 86_400, "a text": "now", "a list": [0], "true": True}.items():
        yield f"begins {name}", LOGIN.token(LOGIN.claims(nbf=value))
        yield f"signed {name}", LOGIN.token(LOGIN.claims(iat=value))
    for number in ("1e400", "NaN", "Infinity", "9" * 5_000):
        said = json.dumps(LOGIN.claims(exp=0)).replace('"exp": 0', f'"exp": {number}')
        yield f"end is {number[:8]}", LOGIN.token(said)


def _names() -> Iterator[tuple[str, str]]:
    for name, audience in {
        "of somebody else": "elsewhere",
        "nearly ours": AUDIENCE + " ",
        "in capitals": AUDIENCE.upper(),
        "an empty list": [],
        "a list of lists": [[AUDIENCE]],
        "an object": {AUDIENCE: 1},
        "missing": None,
    }.items():
        yield f"audience {name}", LOGIN.token(LOGIN.claims(aud=audience))
    for issuer in (
        ISSUER + "/",
        ISSUER.upper(),
        "http" + ISSUER[5:],
        "",
        [ISSUER],
        None,
        "https://evil.example",
    ):
        yield f"issuer {issuer!r}", LOGIN.token(LOGIN.claims(iss=issuer))
    for tenant in (["acme"], {"a": "acme"}, 7, True, "", None):
        yield f"tenant {tenant!r}", LOGIN.token(LOGIN.claims(tenant=tenant))
    for user in ("", None, 7, ["eve"], {}):
        yield f"user {user!r}", LOGIN.token(LOGIN.claims(sub=user))
    for groups in (7, {"a": 1}, [1], [["acme"]], True):
        yield f"groups {groups!r}", LOGIN.token(LOGIN.claims(groups=groups))


def _signatures() -> Iterator[tuple[str, str]]:
    acme = LOGIN.claims(tenant="acme", sub="ann")
    mine = LOGIN.token(LOGIN.claims())
    head, _, signature = mine.split(".")
    payload = encoded(json.dumps(acme).encode())
    yield "another tenant's claims under an own signature", f"{head}.{payload}.{signature}"
    yield "no signature", f"{head}.{payload}."
    yield "a signature of zeros", f"{head}.{payload}.{encoded(bytes(64))}"
    yield "half a signature", f"{mine[:-40]}"
    yield "a signature and more", mine + "AAAA"
    for name in ("none", "None", "NONE", "nOnE", "", "HS256", "ES256", "RS256", "EdDSA ", "eddsa"):
        yield f"algorithm {name!r}, signed", LOGIN.token(acme, alg=name)
        bare = encoded(json.dumps({"alg": name, "kid": "one"}).encode())
        yield f"algorithm {name!r}, empty", f"{bare}.{payload}."
        yield f"algorithm {name!r}, one sign", f"{bare}.{payload}.x"
    confused = f"{encoded(json.dumps({'alg': 'HS256', 'kid': 'one'}).encode())}.{payload}"
    for secret in (LOGIN.public, LOGIN.key_set.encode(), encoded(LOGIN.public).encode(), b""):
        hashed = hmac.digest(secret or b"\x00", confused.encode(), hashlib.sha256)
        yield f"the public key as a secret, {len(secret)} bytes", f"{confused}.{encoded(hashed)}"


def _keys() -> Iterator[tuple[str, str]]:
    stranger, acme = Signer(ISSUER, "one"), LOGIN.claims(tenant="acme")
    own = json.loads(stranger.key_set)["keys"][0]
    yield "a stranger's key under a known id", stranger.token(acme)
    yield "the other issuer's key", Signer(ISSUER, "two", LOGIN_OF_OTHER.key).token(acme)
    yield "the other issuer's key under a known id", Signer(ISSUER, "one", LOGIN_OF_OTHER.key).token(acme)
    for name in ("two", "three", "", "../login.json", "/dev/null", "one' OR '1'='1", "one\x00", "x" * 4_000):
        yield f"key id {name[:20]!r}", stranger.token(acme, kid=name)
    for number in (7, ["one"], {"kid": "one"}, True):
        yield f"key id {number!r}", LOGIN.token(acme, kid=number)
    for header, value in {
        "jwk": own,
        "jku": "https://evil.example/keys.json",
        "x5u": "file:///etc/passwd",
        "x5c": ["AAAA"],
    }.items():
        yield f"brings its key: {header}", stranger.token(acme, **{header: value})
    yield "critical extensions", LOGIN.token(acme, crit=["b64"], b64=False)
    yield "a payload that is not encoded", LOGIN.token(acme, b64=False)


def _shapes() -> Iterator[tuple[str, str]]:
    good = LOGIN.token(LOGIN.claims())
    head, payload, signature = good.split(".")
    yield "8 KiB and a byte", LOGIN.token(LOGIN.claims(more="x" * 8_192))[: 8 * 1_024 + 1]
    yield "8 KiB, signed", LOGIN.token(LOGIN.claims(more="x" * 6_500))
    yield "15 KB of one sign", "x" * 15_000
    yield "dots", "." * 5_000
    yield "two parts", f"{head}.{payload}"
    yield "four parts", f"{good}.{signature}"
    yield "five parts", f"{head}..{payload}..{signature}"
    yield "padded", f"{head}=.{payload}==.{signature}"
    yield "other signs of base64", good.replace("-", "+").replace("_", "/") + "+/"
    yield "deep", LOGIN.token('{"iss": "' + ISSUER + '", "a": ' + "[" * 1_500 + "]" * 1_500 + "}")
    yield "a list", LOGIN.token("[]")
    yield "a text", LOGIN.token('"x"')
    yield "nothing", LOGIN.token("")
    twice = json.dumps(LOGIN.claims()).replace('"tenant"', '"tenant": "acme", "tenant"')
    yield "a claim twice", LOGIN.token(twice)
    yield "no UTF-8", f"{head}.{encoded(bytes([0xFF, 0xFE]))}.{signature}"


def token_cases() -> Iterator[Case]:
    """Every token at every door; wrong schemes of the header at one."""
    for (name, token), (path, sent) in itertools.product(good_tokens(), DOORS.items()):
        yield _case(f"good token, {name}: {path}", token, path, sent, _RIGHT[path])
    for (name, token), (path, sent) in itertools.product(bad_tokens(), DOORS.items()):
        yield _case(f"bad token, {name}: {path}", token, path, sent, UNKNOWN)


def _case(name: str, token: str, path: str, sent: bytes, right: frozenset[int]) -> Case:
    return Case(f"tokens: {name}", path, sent, right, {"authorization": f"Bearer {token}"})
