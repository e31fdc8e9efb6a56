"""The public keys with which an issuer signs its tokens: a JWKS file, or a URL that the operator named.

A URL is fetched in a thread of its own, bounded in time and size, without following it elsewhere. What was
fetched is kept; a key that is not in it is looked for again, once a minute at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kitpick_foundation.text_files import read_text
from kitpick_service.errors import InvalidIssuer
from kitpick_service.origin import LOOPBACK

if TYPE_CHECKING:
    from jwt import PyJWK

_LOG = logging.getLogger("kitpick.service")
_MOST_BYTES, _MOST_KEYS = 256 * 1024, 100
_MOST_SECONDS = 5.0
"""Longest time for a connection, for each read, for all reads, and for a request that waits for a fetch."""
_HUNG_SECONDS = 60.0
"""Seconds after which nobody waits for a fetch any more that has not ended."""
_FRESH_SECONDS = 600.0
"""Keys older than that are fetched again at their next use, while the old ones still count …"""
_STALE_SECONDS = 86_400.0
"""… until they are that old."""
_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS = 60.0, 5.0
"""Between two fetches: where keys are there, and where none has come yet."""
_FILE_SECONDS = 1.0
_LEAST_RSA_BITS = 2048


class KeySet:
    """The keys of one issuer. Safe to use from several threads."""

    def __init__(self, place: str, issuer: str) -> None:
        """Takes a file or URL, and the name of the issuer. A file is read at once, a URL when a token asks.

        Raises:
            InvalidIssuer: a file that cannot be read, or a URL that is neither https nor on this machine.
        """
        self._place, self._issuer = place, issuer
        self._is_url = "://" in place
        self._lock = threading.Lock()
        self._keys: tuple[PyJWK, ...] = ()
        self._changed = self._attempted = -float("inf")
        self._fetch: Future[None] | None = None
        self._stamp: tuple[int, int] | None = None
        if self._is_url:
            self._require_safe()
        else:
            self._read_file()

    @property
    def place(self) -> tuple[str, str]:
        """Where the keys come from, and whose they are."""
        return self._place, self._issuer

    def usable(self, key_id: str | None, algorithm: str) -> tuple[PyJWK, ...]:
        """Keys that may have signed: those of this id. Without an id, the one that fits the algorithm."""
        if not self._is_url:
            self._refresh_file()
        elif self._stale:
            return ()
        fitting = tuple(key for key in self._keys if key.algorithm_name == algorithm)
        if key_id is None:
            return fitting if len(fitting) == 1 else ()
        return tuple(key for key in fitting if key.key_id == key_id)

    async def prepare(self, key_id: str | None) -> None:
        """Fetches where this key is unknown or what was fetched is old; waits only for an unknown one."""
        if not self._is_url:
            return
        fetch = self._due(self._known(key_id))
        if fetch is not None and not self._known(key_id):
            await asyncio.wait([asyncio.wrap_future(fetch)], timeout=_MOST_SECONDS)

    @property
    def _stale(self) -> bool:
        """Whether the keys of a URL are too old to be believed."""
        return time.monotonic() - self._changed > _STALE_SECONDS

    def _known(self, key_id: str | None) -> bool:
        return not self._stale and any(key_id is None or key.key_id == key_id for key in self._keys)

    def _due(self, known: bool) -> Future[None] | None:
        """The fetch that is under way, begun here if it is time for one."""
        with self._lock:
            now = time.monotonic()
            since = now - self._attempted
            if self._fetch is not None and not self._fetch.done() and since < _HUNG_SECONDS:
                return self._fetch
            pause = _PAUSE_SECONDS if self._keys else _FIRST_PAUSE_SECONDS
            if since < pause or (known and now - self._changed < _FRESH_SECONDS):
                return None
            self._attempted = now
            fetch: Future[None] = Future()
            self._fetch = fetch
            threading.Thread(target=self._download, args=(fetch,), daemon=True).start()
            return fetch

    def _download(self, fetch: Future[None]) -> None:
        try:
            self._take(_bounded(self._place))
        except Exception as error:  # noqa: BLE001 - whatever an address answers, the old keys stay in force
            _LOG.error("issuer %r: the old keys stay in force: %s", self._issuer, type(error).__name__)
        finally:
            with contextlib.suppress(Exception):
                fetch.set_result(None)

    def _take(self, data: bytes | str) -> None:
        self._keys, self._changed = _keys_in(data), time.monotonic()

    def _read_file(self) -> None:
        self._attempted = time.monotonic()
        try:
            stamp = _stamp(Path(self._place))
            self._take(read_text(Path(self._place), _MOST_BYTES))
            self._stamp = stamp
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidIssuer(self._issuer, f"jwks: {self._place}: {error}") from error

    def _refresh_file(self) -> None:
        """Reads a file that changed again; one that became unreadable changes nothing."""
        with self._lock:
            if time.monotonic() - self._attempted < _FILE_SECONDS:
                return
            self._attempted = time.monotonic()
            try:
                if _stamp(Path(self._place)) != self._stamp:
                    self._read_file()
            except (OSError, InvalidIssuer):
                _LOG.error("issuer %r: the old keys stay in force: its file cannot be read", self._issuer)

    def _require_safe(self) -> None:
        try:
            parts = urlsplit(self._place)
            host = parts.hostname or ""
        except ValueError as error:
            raise InvalidIssuer(self._issuer, f"jwks: {error}") from error
        if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)):
            raise InvalidIssuer(
                self._issuer, "jwks: an https:// URL, or a file; http:// on this machine alone"
            )


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


class _Unmoved(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the keys are where the operator says, or nowhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - as in the base class
        return None


def _bounded(url: str) -> bytes:
    """What a URL answers."""
    request = urllib.request.Request(url, headers={"accept": "application/json"})  # noqa: S310 - checked above
    until = time.monotonic() + _MOST_SECONDS
    found = bytearray()
    # What is on this machine is asked directly; elsewhere the proxy of the environment counts.
    direct = [urllib.request.ProxyHandler({})] if url.startswith("http:") else []
    with urllib.request.build_opener(_Unmoved, *direct).open(request, timeout=_MOST_SECONDS) as answer:
        while piece := answer.read1(64 * 1024):
            found += piece
            if len(found) > _MOST_BYTES or time.monotonic() > until:
                raise ValueError("too much, or too slow")
    return bytes(found)


def _keys_in(data: bytes | str) -> tuple[PyJWK, ...]:
    """The keys of a set that verify signatures; those of other kinds are passed over."""
    said = json.loads(data)
    listed = said.get("keys") if isinstance(said, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no JSON Web Key Set: it has no list `keys`")
    return tuple(key for key in map(_key, listed[:_MOST_KEYS]) if key is not None)


def _key(given: object) -> PyJWK | None:
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    if not isinstance(given, Mapping) or given.get("use", "sig") != "sig" or given.get("kty") == "oct":
        return None
    if "verify" not in (given.get("key_ops") or ["verify"]):
        return None
    public = {name: value for name, value in given.items() if name not in {"d", "p", "q", "dp", "dq", "qi"}}
    try:
        key = PyJWK.from_dict(public)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    short = given.get("kty") == "RSA" and key.key.key_size < _LEAST_RSA_BITS
    return None if short else key
