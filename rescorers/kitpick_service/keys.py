"""The file of keys and issuers, read again when it changes. Keys themselves are not stored."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from kitpick_foundation.decoding import convert_to
from kitpick_foundation.errors import InvalidSetting, MissingExtra
from kitpick_foundation.text_files import read_text
from kitpick_service.bearers import Bearers, digest
from kitpick_service.errors import InvalidKeyFile, Overloaded, Unauthorized
from kitpick_service.tokens import Issuer, TokenBearer

__all__ = ["NOBODY", "ApiKey", "Bearer", "KeyRing", "digest", "new_key", "parse_keys"]
_LOG = logging.getLogger("kitpick.service")
_RECHECK_SECONDS = 1.0


class ApiKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the key file. `sha256` is the digest of the key as hex."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    """For logs and metrics."""
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    max_requests: Annotated[int, msgspec.Meta(ge=1)] = 1_000_000
    """Under way at the same time."""
    tenant: str = ""
    """With `principals`, what its bearer may see of a catalog, where the process shows one."""
    principals: tuple[str, ...] = ()
    speaks_for_others: bool = False
    """Whether it is that of a search server, whose searches (`/v1/search`) say for whom they are."""
    operator: bool = False
    """Whether its bearer runs this service: may adapt the profile from the explain page."""

    def __post_init__(self) -> None:
        """Raises ValueError for an entry that says both for whom it speaks and that it speaks for all."""
        if self.speaks_for_others and (self.tenant or self.principals):
            raise ValueError(
                f"key {self.name!r}: either `speaks_for_others`, or a `tenant` and `principals`, not both"
            )


Bearer = ApiKey | TokenBearer
NOBODY = ApiKey(name="", sha256="", speaks_for_others=True, operator=True)
"""Stands for the key of a caller where no keys are asked for."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    keys: list[ApiKey] = []
    issuers: list[Issuer] = []


def new_key() -> str:
    """A fresh key, 256 bits."""
    return "tr-" + secrets.token_urlsafe(32)


def parse_keys(text: str, file: str) -> dict[str, ApiKey]:
    """Keys by their digest.

    Raises:
        InvalidKeyFile: not TOML, not lists `[[keys]]` and `[[issuers]]`, no entry in them, or a key twice.
    """
    return {key.sha256: key for key in _parse(text, file).keys}


def _parse(text: str, file: str) -> _File:
    try:
        found = convert_to(msgspec.toml.decode(text), _File)
    except (ValueError, RecursionError) as error:  # numbers too long, nesting too deep
        raise InvalidKeyFile(file, str(error)) from error
    if not found.keys and not found.issuers:
        raise InvalidKeyFile(file, "no [[keys]]: such a service could be used by nobody")
    for digest_, count in Counter(key.sha256 for key in found.keys).items():
        if count > 1:
            raise InvalidKeyFile(file, f"two entries with the sha256 {digest_!r}: nobody knows which counts")
    return found


class KeyRing:
    """The keys and tokens that may use the service. Safe to use from several threads.

    A file that changed is read again within a second; one that became unreadable changes nothing, so that a
    slip of an operator locks nobody out, and lets nobody in.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()
        self._checked = time.monotonic()
        self._stamp = _stamp(path)
        self._bearers: Bearers[ApiKey] = Bearers({}, (), Path()) if path is None else _read(path)
        self.fault = ""
        """Why the file as it is now was not taken; empty when it was."""

    async def prepare(self, authorization: str) -> None:
        """Fetches public keys that `admit` will need, where they are not there yet."""
        if self._path is not None:
            self._refresh()
            await self._bearers.prepare(_secret(authorization))

    @contextmanager
    def admit(self, authorization: str) -> Iterator[Bearer]:
        """Whose key or token `Authorization: Bearer …` has; `NOBODY` where none are asked for.

        Raises:
            Unauthorized: none, or an unknown one.
            Overloaded: this key or user has too many requests under way.
        """
        if self._path is None:
            yield NOBODY
            return
        key = self._known(authorization)
        self._enter(key)
        try:
            yield key
        finally:
            with self._lock:
                self._under_way[key.name] -= 1
                if not self._under_way[key.name]:
                    del self._under_way[key.name]

    def _known(self, authorization: str) -> Bearer:
        self._refresh()
        found = self._bearers.of(_secret(authorization))
        if found is None:
            raise Unauthorized
        return found

    def _enter(self, key: Bearer) -> None:
        with self._lock:
            if self._under_way[key.name] >= key.max_requests:
                raise Overloaded(f"key {key.name!r}: {key.max_requests} requests are under way", 1)
            self._under_way[key.name] += 1

    def _refresh(self) -> None:
        with self._lock:
            now = time.monotonic()
            if self._path is None or now - self._checked < _RECHECK_SECONDS:
                return
            self._checked = now
            stamp = _stamp(self._path)
            if stamp == self._stamp:
                return
            try:
                self._bearers, self._stamp, self.fault = _read(self._path, self._bearers), stamp, ""
            except (InvalidSetting, MissingExtra) as error:
                self._note_fault(str(error))

    def _note_fault(self, fault: str) -> None:
        """Logs once why a changed key file was not taken over."""
        if fault != self.fault:
            _LOG.error("the old keys stay in force: %s", fault)
        self.fault = fault


def _stamp(path: Path | None) -> tuple[int, int, int]:
    """Changes whenever the file does: also when another one is moved into its place."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        found = None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else (0, 0, 0)


def _secret(authorization: str) -> str:
    """What stands behind `Bearer`; empty for another scheme."""
    scheme, _, given = authorization.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _read(path: Path, before: Bearers[ApiKey] | None = None) -> Bearers[ApiKey]:
    try:
        found = _parse(read_text(path), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidKeyFile(str(path), f"cannot be read: {error}") from error
    return Bearers({key.sha256: key for key in found.keys}, found.issuers, path.absolute().parent, before)
