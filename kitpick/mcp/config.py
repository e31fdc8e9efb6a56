"""The configuration of the MCP server: who may use it, and which upstream servers it has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from kitpick.mcp.client_files import is_client_file, read_client_file
from kitpick.mcp.clients import absolute_catalog
from kitpick.mcp.errors import InvalidMcpConfig
from kitpick_engines.contract import Filter
from kitpick_engines.document import Effect
from kitpick_foundation.decoding import convert_to
from kitpick_foundation.text_files import read_text
from kitpick_ingest.approvals import Approvals
from kitpick_ingest.errors import UnknownSource
from kitpick_ingest.sources.mcp_endpoint import LiveSettings, McpEndpoint, overlaid
from kitpick_service.tokens import Issuer

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3_600)]


class Caller(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody who may use the MCP server, and what they may see and do."""

    name: Name
    """For logs."""
    sha256: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")] = ""
    """Digest of the bearer token, as hex; the token itself is stored nowhere."""
    tenant: str = ""
    principals: tuple[str, ...] = ()
    may_call: bool = False
    """Whether `call_tool` is for them at all."""

    @property
    def filter(self) -> Filter:
        """What they may see."""
        return Filter(tenant=self.tenant, principals=frozenset(self.principals))


class UpstreamConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server whose tools are in the catalog and, where listed in `allow`, may be called."""

    name: Name
    """Owner of its documents in the catalog: the first part of their ids."""
    target: str
    """`https://HOST/PATH` or `stdio:COMMAND ARGUMENT …`."""
    allow: tuple[str, ...] = ()
    """Patterns (`read_*`) of the tools that may be called; none: nothing may."""
    deny: tuple[str, ...] = ()
    """Patterns of tools that may not, whatever `allow` says."""
    listed: tuple[str, ...] = ()
    """Patterns of callable tools that clients are shown beside the search, to be called by name."""
    effects: tuple[Effect, ...] = (Effect.READ, Effect.WRITE, Effect.UNKNOWN)
    """What a callable tool may do to the world: destructive ones have to be asked for."""
    category: str = ""
    tenant: str = ""
    visible_to: tuple[str, ...] = ()
    """Principals who may see its tools; none: everybody."""
    headers: Mapping[str, str] = {}
    """Header → name of the environment variable with its value."""
    forward: Mapping[str, str] = {}
    """Header of a caller's request → header of the call that is made for it: credentials of the user's own.
    They are stored nowhere; a call without them is refused. Over HTTP alone."""
    header_values: Mapping[str, str] = {}
    """Header → its value, as clients' files have them."""
    environment: tuple[str, ...] = ()
    """Environment variables that a started server gets from this process."""
    env: Mapping[str, str] = {}
    """Environment variable of a started server → its value."""
    cwd: str = ""
    """Folder in which a server is started."""
    timeout_seconds: Seconds = 30.0
    """For connecting, and for one call."""
    poll_seconds: Seconds = 60.0
    """How often a server is asked for its tools, for changes that it does not announce."""
    max_calls: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 16
    """Under way at the same time; further ones wait."""
    max_result_bytes: Annotated[int, msgspec.Meta(ge=1)] = 4 * 1024 * 1024
    allow_shrink: bool = False
    """Whether tools are deleted even when the server suddenly lists less than half of them."""

    @property
    def endpoint(self) -> McpEndpoint:
        """Where it is.

        Raises:
            UnknownSource: the target is neither a URL nor a command.
        """
        return McpEndpoint.parse(self.target)


class McpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. Without one, the server only searches, and shows what is public."""

    callers: tuple[Caller, ...] = ()
    issuers: tuple[Issuer, ...] = ()
    """Whose signed tokens are accepted beside those of `callers`."""
    resource: str = ""
    """URL by which clients know this server, which tells them of its issuers: needed with `issuers`."""
    upstreams: tuple[UpstreamConfig, ...] = ()
    lock: Path | None = None
    """Lock file of `kitpick lock`: tools of upstreams that are not as approved are named in the log."""
    catalog: str = ""
    """URL of the catalog, where the command names none."""
    hold_back: bool = False
    """Keep them out of the catalog; approved versions stay."""
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = 1_024
    """Open at the same time over HTTP, idle ones included."""

    @property
    def guarded(self) -> bool:
        """Whether callers over HTTP have to say who they are."""
        return bool(self.callers or self.issuers)


def read_config(path: Path | None) -> McpConfig:
    """The configuration in a TOML file, or in the JSON file of a client, with the servers that it names.

    Paths in it count from its folder.

    Raises:
        InvalidMcpConfig: unreadable, not TOML, an unknown field, a value that is not allowed, a name twice, a
            caller without a digest, or a target that is no address.
        InvalidLockFile: there is no lock file of that name, or it is not whole.
    """
    if path is None:
        return McpConfig()
    try:
        if is_client_file(path):
            given: object = {"upstreams": read_client_file(path)}
        else:
            given = msgspec.toml.decode(read_text(path))
        found = convert_to(given, McpConfig, dec_hook=_path)
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidMcpConfig(str(path), str(error)) from error
    found = _beside(found, path.absolute().parent)
    _check(found, str(path))
    return found


def _beside(config: McpConfig, folder: Path) -> McpConfig:
    """The configuration with paths that do not depend on where this process was started."""
    lock = config.lock and folder / config.lock.expanduser()
    issuers = tuple(issuer.beside(folder) for issuer in config.issuers)
    catalog = absolute_catalog(config.catalog, folder)
    upstreams = tuple(
        replace(each, cwd=str(folder / Path(each.cwd).expanduser())) if each.cwd else each
        for each in config.upstreams
    )
    return replace(config, catalog=catalog, lock=lock, issuers=issuers, upstreams=upstreams)


def _check(config: McpConfig, where: str) -> None:
    _check_names(config, where)
    if config.issuers and urlsplit(config.resource).scheme not in {"http", "https"}:
        raise InvalidMcpConfig(
            where, "[[issuers]] need `resource`: the URL by which clients know this server"
        )
    for upstream in config.upstreams:
        _check_upstream(upstream, where)
    if config.hold_back and config.lock is None:
        raise InvalidMcpConfig(where, "`hold_back` needs `lock`, which says what is approved")
    if config.lock is not None:
        Approvals.read(config.lock)


def _check_names(config: McpConfig, where: str) -> None:
    for what, names in (
        ("upstreams", [upstream.name for upstream in config.upstreams]),
        ("callers", [caller.name for caller in config.callers]),
        ("callers with the digest", [caller.sha256 for caller in config.callers]),
    ):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InvalidMcpConfig(where, f"two {what} {twice!r}")
    if nameless := next((caller.name for caller in config.callers if not caller.sha256), None):
        raise InvalidMcpConfig(where, f"caller {nameless!r} has no sha256: a caller is recognised by it")


def _check_upstream(upstream: UpstreamConfig, where: str) -> None:
    live_settings(upstream, where)
    try:
        endpoint = upstream.endpoint
    except UnknownSource as error:
        raise InvalidMcpConfig(where, f"upstream {upstream.name!r}: {error}") from error
    reason = ""
    if upstream.forward and not endpoint.url:
        reason = "only a URL can be given headers"
    elif _OWN & {name.lower() for name in upstream.forward}:
        reason = "a caller's token for this server is not forwarded: take another header"
    elif twice := _twice([*upstream.headers, *upstream.header_values]) or _twice(upstream.forward.values()):
        reason = f"the header {twice!r} is named twice: upper and lower case are the same here"
    if reason:
        raise InvalidMcpConfig(where, f"upstream {upstream.name!r}: {reason}")


_OWN = frozenset({"authorization"})
"""Headers of a caller that are meant for this server itself."""


def _twice(headers: Iterable[str]) -> str | None:
    """A header that is named twice, in whatever case."""
    names = [name.lower() for name in headers]
    return next((name for name in names if names.count(name) > 1), None)


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(kind)


def live_settings(upstream: UpstreamConfig, where: str = "configuration") -> LiveSettings:
    """Limits and secrets of a connection to this server.

    Raises:
        InvalidMcpConfig: an environment variable that is not set.
    """

    def value(variable: str) -> str:
        if variable not in os.environ:
            raise InvalidMcpConfig(where, f"upstream {upstream.name!r}: variable {variable!r} is not set")
        return os.environ[variable]

    headers = overlaid(
        upstream.header_values, {header: value(name) for header, name in upstream.headers.items()}
    )
    return LiveSettings(
        request_seconds=upstream.timeout_seconds,
        max_result_bytes=upstream.max_result_bytes,
        headers=headers,
        environment={variable: value(variable) for variable in upstream.environment} | dict(upstream.env),
        folder=upstream.cwd,
    )
