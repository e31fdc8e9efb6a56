"""Who is calling: the bearer token of an HTTP request, or whoever started the server on standard streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from toolrank.mcp.config import Caller
from toolrank_rescorers.service.keys import digest


class Callers:
    """The configured callers by the digest of their token; also the SDK's `TokenVerifier`."""

    def __init__(self, callers: Iterable[Caller], local: Caller) -> None:
        """Takes the configured ones, and the one of requests that bring no token."""
        self._by_digest = {caller.sha256: caller for caller in callers}
        self._by_name = {caller.name: caller for caller in self._by_digest.values()}
        self._local = local

    async def verify_token(self, token: str) -> AccessToken | None:
        """The caller's name as the token's client, None for an unknown token."""
        caller = self._by_digest.get(digest(token))
        return None if caller is None else AccessToken(token="", client_id=caller.name, scopes=[])

    def of(self, request: Any) -> Caller:  # noqa: ANN401 - the SDK leaves the type of a transport's request open
        """Who sent this request: on standard streams there is none, over HTTP its token was verified."""
        if request is None or not self._by_name:
            return self._local
        return self._by_name[request.user.access_token.client_id]

    def guarded(self, app: ASGIApp) -> ASGIApp:
        """The application behind the check of tokens; as it is where no callers are configured."""
        if not self._by_name:
            return app
        checked = AuthenticationMiddleware(RequireAuthMiddleware(app, []), backend=BearerAuthBackend(self))

        async def guard(scope: Scope, receive: Receive, send: Send) -> None:
            await (checked if scope["type"] == "http" else app)(scope, receive, send)

        return guard
