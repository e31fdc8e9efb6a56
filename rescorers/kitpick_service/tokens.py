"""Signed tokens (JWT) of issuers that the operator trusts: reads from claims who asks and what they may see.

Whatever is wrong with a token, it is refused in the same way, and nothing of it is kept or logged.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from kitpick_foundation.errors import MissingExtra
from kitpick_service.errors import InvalidIssuer
from kitpick_service.key_sets import KeySet

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKEN = 8 * 1024
"""Most bytes of a token."""
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


class Issuer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An `[[issuers]]` entry: whose tokens are accepted, and what their claims mean here."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    """For logs and metrics."""
    issuer: Text
    """The claim `iss`, to the letter."""
    audience: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    """The claim `aud` names one of them."""
    jwks: Text
    """Its public keys: an https:// URL, or a file."""
    algorithms: Annotated[tuple[Literal["RS256", "ES256", "EdDSA"], ...], msgspec.Meta(min_length=1)] = (
        "RS256",
        "ES256",
        "EdDSA",
    )
    skew_seconds: Annotated[float, msgspec.Meta(ge=0, le=600)] = 30.0
    """By how much its clock and this one may differ."""
    tenant: str = ""
    """Tenant of everybody whom it signs for."""
    tenant_claim: str = ""
    """… or the claim that holds the tenant: a text; without it a token is refused."""
    principal_claims: tuple[Text, ...] = ()
    """Claims with users and groups: a text, or a list of texts. Dots lead into objects."""
    call_claim: str = ""
    """Claim that says whether tools may be called; none: nobody may."""
    call_value: str = ""
    """The word that it holds for those who may."""
    operator_claim: str = ""
    """Claim that says who runs the service, as an `operator` among keys does; none: nobody."""
    operator_value: str = ""
    """The word that it holds for those who do."""
    max_requests: Annotated[int, msgspec.Meta(ge=1)] = 1_000_000
    """Under way at the same time, of one user."""

    def beside(self, folder: Path) -> Issuer:
        """The same issuer, with a relative path of its key set counted from a folder."""
        if "://" in self.jwks:
            return self
        return replace(self, jwks=str(folder / Path(self.jwks).expanduser()))


class TokenBearer(msgspec.Struct, frozen=True):
    """Who asks, by a token that was verified."""

    name: str
    """Its issuer's name and a digest of its user: the same for every token of the same user."""
    tenant: str
    principals: tuple[str, ...]
    may_call: bool
    operator: bool
    max_requests: int
    speaks_for_others = False


class _Parts(msgspec.Struct, frozen=True):
    """What a token says of itself, before anything of it is verified."""

    issuer: str
    key_id: str | None
    algorithm: str


class TokenCheck:
    """Verifies the tokens of some issuers. Safe to use from several threads."""

    def __init__(self, issuers: Iterable[Issuer], folder: Path, before: TokenCheck | None = None) -> None:
        """Paths of key sets count from the folder; of `before`, what was fetched stays.

        Raises:
            InvalidIssuer: two of one name or address, two tenants of one, or a key set that cannot be used.
            MissingExtra: what verifies signatures is not installed.
        """
        self._issuers: dict[str, tuple[Issuer, KeySet]] = {}
        names: set[str] = set()
        for issuer in issuers:
            if find_spec("jwt") is None or find_spec("cryptography") is None:
                raise MissingExtra("serve", "verifying tokens")
            if issuer.name in names or issuer.issuer in self._issuers:
                raise InvalidIssuer(issuer.name, "another entry has the same name or issuer")
            _check(issuer)
            names.add(issuer.name)
            place = (issuer.beside(folder).jwks, issuer.name)
            held = {} if before is None else {keys.place: keys for _, keys in before._issuers.values()}
            self._issuers[issuer.issuer] = issuer, held.get(place) or KeySet(*place)

    async def prepare(self, token: str) -> None:
        """Fetches the keys that this token may need, where they are not there yet."""
        parts = self._parts(token)
        if parts is not None:
            await self._issuers[parts.issuer][1].prepare(parts.key_id)

    def bearer(self, token: str) -> TokenBearer | None:
        """Who holds this token; None for one that is not valid, whatever the reason."""
        parts = self._parts(token)
        if parts is None:
            return None
        issuer, keys = self._issuers[parts.issuer]
        claims = (_claims(token, key, issuer) for key in keys.usable(parts.key_id, parts.algorithm))
        valid = next((each for each in claims if each is not None), None)
        return None if valid is None else _bearer(valid, issuer)

    def _parts(self, token: str) -> _Parts | None:
        if not self._issuers or len(token) > MAX_TOKEN or not _FORM.fullmatch(token):
            return None
        try:
            header, claims = (_strict(part) for part in token.split(".")[:2])
        except (ValueError, RecursionError):
            return None
        named, key_id, algorithm = claims.get("iss"), header.get("kid"), header.get("alg")
        known = self._issuers.get(named) if isinstance(named, str) else None
        if known is None or algorithm not in known[0].algorithms or "crit" in header or "b64" in header:
            return None
        if not (key_id is None or isinstance(key_id, str)):
            return None
        return _Parts(str(named), key_id, str(algorithm))


def _check(issuer: Issuer) -> None:
    if issuer.tenant and issuer.tenant_claim:
        raise InvalidIssuer(issuer.name, "`tenant` or `tenant_claim`, not both")
    for name in ("call", "operator"):
        claim, value = (f"{name}_{part}" for part in ("claim", "value"))
        if bool(getattr(issuer, claim)) is not bool(getattr(issuer, value)):
            raise InvalidIssuer(issuer.name, f"`{claim}` and `{value}` belong together")


def _strict(part: str) -> dict[str, Any]:
    """A JSON object without repeated names, NaN and halves of characters."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name twice")
        return found

    def refuse(constant: str) -> Any:  # noqa: ANN401 - never returns
        raise ValueError(constant)

    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    found = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse)
    if not isinstance(found, dict):
        raise ValueError("no object")
    json.dumps(found, ensure_ascii=False).encode()  # halves of characters have no UTF-8 form: a ValueError
    return found


def _claims(token: str, key: PyJWK, issuer: Issuer) -> dict[str, Any] | None:
    """The claims of a token that this key signed, that is valid now and meant for this place."""
    import jwt

    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=issuer.audience,
            issuer=issuer.issuer,
            leeway=issuer.skew_seconds,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except Exception:  # noqa: BLE001 - whatever is wrong with a token, it is refused, and nothing is told
        return None
    times = [claims[name] for name in ("exp", "nbf", "iat") if name in claims]
    numbers = all(type(each) in {int, float} and math.isfinite(each) for each in times)
    return claims if numbers and isinstance(claims["sub"], str) and claims["sub"] else None


def _bearer(claims: Mapping[str, Any], issuer: Issuer) -> TokenBearer | None:
    """Who the claims speak of; None where one of them is not of the kind that the mapping expects."""
    tenant = _claim(claims, issuer.tenant_claim) if issuer.tenant_claim else issuer.tenant
    lists = [_texts(_claim(claims, name)) for name in issuer.principal_claims]
    if not isinstance(tenant, str) or (issuer.tenant_claim and not tenant) or None in lists:
        return None
    principals = tuple(dict.fromkeys(text for texts in lists for text in texts or ()))
    who = hashlib.sha256(msgspec.json.encode([issuer.issuer, claims["sub"]])).hexdigest()[:32]
    return TokenBearer(
        name=f"{issuer.name}:{who}",
        tenant=tenant,
        principals=principals,
        may_call=_says(claims, issuer.call_claim, issuer.call_value),
        operator=_says(claims, issuer.operator_claim, issuer.operator_value),
        max_requests=issuer.max_requests,
    )


def _claim(claims: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever a token says
    """A claim by its whole name, else by dots into objects; None where there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(claim: object) -> tuple[str, ...] | None:
    """The texts of a claim, without empty ones; None if it holds anything else."""
    listed: list[Any] = [] if claim is None else claim if isinstance(claim, list) else [claim]
    texts = tuple(text for text in listed if isinstance(text, str))
    return tuple(filter(None, texts)) if len(texts) == len(listed) else None


def _says(claims: Mapping[str, Any], name: str, word: str) -> bool:
    """Whether a claim that the mapping names has its word; never where it names none."""
    claim = _claim(claims, name) if name else None
    # A list of texts, or a text of words between spaces.
    return word in claim.split(" ") if isinstance(claim, str) else isinstance(claim, list) and word in claim
