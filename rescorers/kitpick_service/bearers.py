"""Identifies callers, by the digest of a key or by a signed token: for service, gateway and page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from kitpick_service.tokens import Issuer, TokenBearer, TokenCheck

Known = TypeVar("Known")


def digest(key: str) -> str:
    """SHA-256 as hex: keys are random, so no slow hash is called for."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class Bearers(Generic[Known]):
    """Those who may ask: `Known` by the digest of a key, and whom issuers sign for."""

    def __init__(
        self,
        keys: Mapping[str, Known],
        issuers: Iterable[Issuer],
        folder: Path,
        before: Bearers[Known] | None = None,
    ) -> None:
        """Paths of key sets count from the folder; what `before` fetched stays. Raises like `TokenCheck`."""
        self._keys = dict(keys)
        self._tokens: TokenCheck = TokenCheck(issuers, folder, None if before is None else before._tokens)

    async def prepare(self, secret: str) -> None:
        """Fetches public keys that `of` will need: to be called before it, on the event loop."""
        if digest(secret) not in self._keys:
            await self._tokens.prepare(secret)

    def of(self, secret: str) -> Known | TokenBearer | None:
        """Who sent this key or token; None for one that nobody here knows."""
        if not secret:
            return None
        known = self._keys.get(digest(secret))
        return self._tokens.bearer(secret) if known is None else known
