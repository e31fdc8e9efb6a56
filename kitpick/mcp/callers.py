"""Who asks over HTTP: the check of bearer tokens, and the metadata that says where to get one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from pydantic import AnyHttpUrl, ConfigDict
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kitpick.mcp.config import Caller, McpConfig
from kitpick_service.bearers import Bearers
from kitpick_service.tokens import TokenBearer

WELL_KNOWN = "/.well-known/oauth-protected-resource"


class CallerToken(AccessToken):
    """The SDK's token, with the caller that it stands for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    caller: Caller


class Callers:
    """The configured callers and those of issuers; also the SDK's `TokenVerifier`."""

    def __init__(self, config: McpConfig, local: Caller) -> None:
        """Takes the configured ones, and the one of requests that bring no token; raises like `Bearers`."""
        keys = {caller.sha256: caller for caller in config.callers}
        self._bearers = Bearers(keys, config.issuers, Path())
        self._guarded = config.guarded
        self._local = local
        self._metadata = _metadata(config)
        self._resource = config.resource

    async def verify_token(self, token: str) -> CallerToken | None:
        """Whose token this is, None for one that nobody here knows."""
        await self._bearers.prepare(token)
        known = self._bearers.of(token)
        if known is None:
            return None
        caller = _caller(known) if isinstance(known, TokenBearer) else known
        return CallerToken(token="", client_id=caller.name, scopes=[], caller=caller)

    def of(self, request: Any) -> Caller:  # noqa: ANN401 - the SDK leaves the type of a transport's request open
        """Who sent this request: on standard streams there is none, over HTTP its token was verified."""
        if request is None or not self._guarded:
            return self._local
        caller: Caller = request.user.access_token.caller
        return caller

    def guarded(self, app: ASGIApp) -> ASGIApp:
        """The application behind the check of tokens; as it is where no callers are configured."""
        if not self._guarded:
            return app
        told = AnyHttpUrl(_metadata_url(self._resource)) if self._metadata else None
        checked = AuthenticationMiddleware(
            RequireAuthMiddleware(app, [], told), backend=BearerAuthBackend(self)
        )
        public = {WELL_KNOWN, urlsplit(_metadata_url(self._resource)).path} if self._metadata else set()

        async def guard(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
            elif scope["path"] in public and scope["method"] in {"GET", "HEAD"}:
                await self._tell(scope, receive, send)
            else:
                await checked(_with_one_authorization(scope), receive, send)

        return guard

    async def _tell(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the metadata, to pages of other sites as well: clients in browsers read it."""
        headers = {"access-control-allow-origin": "*", "cache-control": "max-age=3600"}
        await Response(self._metadata, media_type="application/json", headers=headers)(scope, receive, send)


def _with_one_authorization(scope: Scope) -> Scope:
    """The request with all that its headers `Authorization` say in one.

    Of several, such as a proxy's beside a caller's, none counts: the SDK takes the first, whoever wrote it.
    """
    said = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(said) < 2:
        return scope
    others = [header for header in scope["headers"] if header[0] != b"authorization"]
    return {**scope, "headers": [*others, (b"authorization", b", ".join(said))]}


def _caller(bearer: TokenBearer) -> Caller:
    return Caller(bearer.name, tenant=bearer.tenant, principals=bearer.principals, may_call=bearer.may_call)


def _metadata_url(resource: str) -> str:
    """Where the metadata of a resource is (RFC 9728): its path stands behind the well-known one."""
    parts = urlsplit(resource)
    path = "" if parts.path == "/" else parts.path
    return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{path}"


def _metadata(config: McpConfig) -> bytes:
    """What clients are told about where to get a token; empty without issuers."""
    if not config.issuers:
        return b""
    servers = [issuer.issuer for issuer in config.issuers]
    said = {"resource": config.resource, "authorization_servers": servers}
    return msgspec.json.encode(said | {"bearer_methods_supported": ["header"]})
