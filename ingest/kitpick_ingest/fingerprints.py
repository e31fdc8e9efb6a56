"""Detects that a source has not changed since its last sync, so that it need not be read again."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from kitpick_engines import document
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.source import Source

_CHUNK = 1024 * 1024


@runtime_checkable
class FingerprintedSource(Source, Protocol):
    """A source with a fingerprint that shows cheaply whether it has changed."""

    def fingerprint(self) -> str | None:
        """Equal as long as the source yields the same; None if that is unknown.

        Raises:
            SourceError, OSError: there is nothing to read.
        """


class _Synced(msgspec.Struct, frozen=True):
    """The record of a sync that left nothing out."""

    fingerprint: str
    held: str
    """Digest of all ids and content hashes that the index held of the source afterwards."""
    documents: int


class LastSync:
    """Fingerprints of a source and of its part of the index at the end of a sync.

    Forgetting costs only time: where the file is missing, broken or of another version, the source is read.

    Args:
        file: where it is kept.
        source: taken as it is now, before it is read: what changes later is another fingerprint.
    """

    def __init__(self, file: Path, source: Source) -> None:
        self._file = file
        self._fingerprint = fingerprint_of(source)

    def still_holds(self, hashes: Iterable[tuple[str, str]]) -> int | None:
        """Number of documents if source and index are both what they were, else None.

        Args:
            hashes: pairs (id, content hash) that the index holds of the source, ordered by id.
        """
        known = self._known()
        if known is None or self._fingerprint is None or known.fingerprint != self._fingerprint:
            return None
        return known.documents if _held(hashes) == (known.held, known.documents) else None

    def remember(self, hashes: Iterable[tuple[str, str]]) -> None:
        """Records a sync that left nothing out."""
        if self._fingerprint is None:
            return
        part = self._file.with_suffix(".part")
        with suppress(OSError):
            part.write_bytes(msgspec.json.encode(_Synced(self._fingerprint, *_held(hashes))))
            part.replace(self._file)

    def forget(self) -> None:
        """Removes the record, so that the next sync reads the source: this one left something out."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)

    def _known(self) -> _Synced | None:
        try:
            return decode_as(self._file.read_bytes(), _Synced)
        except (OSError, *UNDECODABLE):
            return None


def fingerprint_of(source: Source) -> str | None:
    """Fingerprint of a source and of the code that reads it; None if the source has none."""
    if not isinstance(source, FingerprintedSource):
        return None
    try:
        content = source.fingerprint()
    except (SourceError, OSError):
        return None  # reading it says what is wrong
    return None if content is None else digest(_code(), type(source).__qualname__, source.name, content)


def file_fingerprint(files: Iterable[Path], *settings: str) -> str:
    """Digest of files, by path and content, and of the settings they are read with.

    Raises:
        OSError: a file cannot be read.
    """
    summed = hashlib.blake2b(digest_size=16)
    for path in files:
        summed.update(f"{path}\0".encode(errors="surrogateescape") + _content(path))
    return digest(summed.hexdigest(), *settings)


def found_fingerprint(files: Iterable[FoundFile], parts: Iterable[Path] = (), *settings: str) -> str:
    """Digest of the files of a source that are read, of their parts and of the names of the others.

    Raises:
        OSError: a file cannot be read.
    """
    found = tuple(files)
    read = [file.path for file in found if not file.problem]
    return file_fingerprint([*read, *parts], *settings, *(str(file.path) for file in found if file.problem))


def _content(path: Path) -> bytes:
    summed = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            summed.update(chunk)
    return summed.digest()


def digest(*parts: str) -> str:
    """Hexadecimal digest of a list of texts."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()


def _held(hashes: Iterable[tuple[str, str]]) -> tuple[str, int]:
    summed, count = hashlib.blake2b(digest_size=16), 0
    for key, content_hash in hashes:
        summed.update(f"{key}\0{content_hash}\n".encode())
        count += 1
    return summed.hexdigest(), count


@cache
def _code() -> str:
    """Digest of the code that converts entries, because another version may make other documents."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return file_fingerprint([*files, Path(document.__file__)], sys.version)
