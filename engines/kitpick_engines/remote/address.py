"""The URL of a catalog on a search server, and the options in it.

    opensearch://HOST[:PORT][,HOST…][/NAME][?option=value&…]      also opensearch+https, elasticsearch(+https)

User and password may stand before an @; better is the environment: KITPICK_ENGINE_USER and
KITPICK_ENGINE_PASSWORD, or KITPICK_ENGINE_API_KEY.
"""

from __future__ import annotations

import os
import re
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec

from kitpick_engines.errors import UnknownEngine
from kitpick_foundation.decoding import convert_to

DEFAULT_NAME = "kitpick"
_PORT = 9200
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")
FORM = (
    "opensearch://HOST[:PORT][,HOST…][/NAME][?OPTIONS] (opensearch+https, elasticsearch, elasticsearch+https)"
)

ServerKind = Literal["opensearch", "elasticsearch"]
_KINDS: tuple[ServerKind, ...] = ("opensearch", "elasticsearch")


class RemoteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a catalog's URL. None of them is a secret."""

    shards: int = 0
    """Shards of a new index; 0 leaves the number to the server or its index template. With more than one,
    each shard weighs terms by its own documents when candidates are chosen."""
    replicas: int = -1
    """Replicas of a new index; -1 leaves the number to the server or its index template."""
    vectors: Literal["hnsw", "exact"] = "hnsw"
    """How the nearest vectors are found. `exact` compares all that are visible: up to about 100,000 APIs."""
    graph: Literal["lucene", "faiss"] = "lucene"
    """Library that builds the graph of a new index in OpenSearch. `faiss` needs an official build."""
    auth: Literal["basic", "sigv4"] = "basic"
    region: str = ""
    """AWS region, for `sigv4`; by default the one of the environment."""
    service: Literal["es", "aoss"] = "es"
    """AWS service, for `sigv4`: `aoss` is OpenSearch Serverless."""
    ca: str = ""
    """File of certificates to trust instead of the system's."""
    verify: bool = True
    """Whether certificates are verified."""
    timeout: float = 30.0
    """Seconds that one request may take."""
    patience: float = 60.0
    """Seconds over which a refused write (429, 503, no connection) is tried again."""
    busy: float = 120.0
    """Seconds to wait for another writer."""


class Credentials(msgspec.Struct, frozen=True):
    """Credentials of the client. Never printed."""

    user: str = ""
    password: str = ""
    api_key: str = ""

    def __repr__(self) -> str:
        return "Credentials(…)"


class Address(msgspec.Struct, frozen=True):
    """The address of a catalog."""

    kind: ServerKind
    hosts: tuple[str, ...]
    """`host:port` each."""
    tls: bool
    name: str
    """Name of the catalog: the alias of its live index, and the prefix of the names of all its indexes."""
    settings: RemoteSettings = RemoteSettings()
    credentials: Credentials = Credentials()

    @property
    def url(self) -> str:
        """The URL of the same catalog, without secrets."""
        options = urlencode(_options_set(self.settings))
        scheme = f"{self.kind}+https" if self.tls else self.kind
        return f"{scheme}://{','.join(self.hosts)}/{quote(self.name)}" + (f"?{options}" if options else "")

    @property
    def nodes(self) -> list[str]:
        """URLs of the servers, for client libraries."""
        return [f"{'https' if self.tls else 'http'}://{host}" for host in self.hosts]


def is_remote(url: str) -> bool:
    """Whether the scheme names a search server."""
    return url.partition("://")[0].lower().partition("+")[0] in _KINDS and "://" in url


def parse_address(url: str) -> Address:
    """The address that a URL names.

    Raises:
        UnknownEngine: the URL cannot be understood; the message shows no secret.
    """
    scheme, _, rest = url.partition("://")
    named, plus, transport = scheme.lower().partition("+")
    kind = next((known for known in _KINDS if known == named), None)
    if kind is None or (plus and transport != "https"):
        raise _unknown(f"the scheme is {scheme[:40]!r}")
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    userinfo, _, hosts = authority.rpartition("@")
    name = unquote(path.rstrip("/")) or DEFAULT_NAME
    if not _NAME.fullmatch(name):
        raise _unknown("the name of a catalog is lower-case letters, digits, - and _, at most 100")
    return Address(kind, _hosts(hosts), bool(plus), name, _settings(query), _credentials(userinfo))


def _hosts(text: str) -> tuple[str, ...]:
    hosts = text.split(",")
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise _unknown("there is no host where one should be")
    return tuple(host if re.search(r":\d+$", host) else f"{host}:{_PORT}" for host in hosts)


def _settings(query: str) -> RemoteSettings:
    try:
        return convert_to(dict(parse_qsl(query, strict_parsing=bool(query))), RemoteSettings, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise _unknown(f"an option is wrong: {error}") from None


def _options_set(settings: RemoteSettings) -> dict[str, str]:
    """The options that differ from the defaults, as text."""
    options = msgspec.to_builtins(settings).items()
    return {name: value if isinstance(value, str) else str(value).lower() for name, value in options}


def _credentials(userinfo: str) -> Credentials:
    user, _, password = userinfo.partition(":")
    return Credentials(
        unquote(user) or os.environ.get("KITPICK_ENGINE_USER", ""),
        unquote(password) or os.environ.get("KITPICK_ENGINE_PASSWORD", ""),
        os.environ.get("KITPICK_ENGINE_API_KEY", ""),
    )


def _unknown(reason: str) -> UnknownEngine:
    return UnknownEngine(f"{reason}; the form is {FORM}")
