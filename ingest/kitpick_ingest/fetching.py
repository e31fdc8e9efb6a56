"""Fetches files behind URLs. Packed ones are unpacked piece by piece, so that none can fill the memory."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import LINES_SUFFIXES, MAX_FILE_BYTES, os_reason
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.urls import shown_url

MAX_FETCHED_BYTES = 100 * 1024 * 1024
"""Most bytes of a file that is read as a whole, unpacked. Packed it may be a thousandth of that; its values
take up to thirty times as much memory. JSON Lines are read by lines, so they may be as large as any file."""
_CHUNK = 1024 * 1024
_CREDENTIALS = "give credentials with --header Authorization=VARIABLE"
_A_PAGE = f"the server sent a web page, mostly one to log in: {_CREDENTIALS}"
_PIECE = 64 * 1024
_PARTIAL = 206
_ANY_WINDOW = 47
"""For zlib: gzip or zlib, as the data say."""

Unpack = Callable[[bytes], Iterable[bytes]]


def unpacker(encoding: str) -> Unpack:
    """A function that unpacks chunk after chunk of a body, by its `Content-Encoding`; the last is empty.

    Raises:
        zlib.error: an encoding that nobody asked for; or, from the function, a body that is not as it says,
            or not whole.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk: [chunk]
    if name not in ("gzip", "x-gzip", "deflate"):
        raise zlib.error(f"nobody asked for the encoding {name[:50]!r}")
    return _Members()


class _Members:
    """Unpacks a body of gzip, which may have several parts, or of zlib."""

    def __init__(self) -> None:
        self._packed = zlib.decompressobj(_ANY_WINDOW)
        self._begun = False

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        """The pieces of a chunk; of an empty one none: it is the end."""
        if not chunk and self._begun and not self._packed.eof:
            raise zlib.error("it ends too early")
        full = False
        while chunk or full:
            if self._packed.eof and not (chunk := chunk.lstrip(b"\0")):
                return
            if self._packed.eof:
                self._packed = zlib.decompressobj(_ANY_WINDOW)
            self._begun = True
            piece = self._packed.decompress(chunk, _PIECE)
            full = len(piece) == _PIECE
            if piece:
                yield piece
            chunk = self._packed.unconsumed_tail or self._packed.unused_data


@dataclass
class RemoteFileSource:
    """A file behind a URL, downloaded for each reading and not kept, and read by the reader of its kind."""

    url: str
    name: str
    open_file: Callable[[Path], Source]
    """Opens the source of the fetched file, whose name is that of the URL's path."""
    settings: LiveSettings

    def read(self) -> Iterator[Converted]:
        """Documents of the fetched file; positions of dead letters name the URL."""
        where = shown_url(self.url)
        with tempfile.TemporaryDirectory(prefix="kitpick-") as folder:
            path = Path(folder, Path(where).name)
            page = self._fetch(path, where)
            try:
                yield from _relocated(self.open_file(path), str(path), where)
            except SourceError as error:
                what, cure = error.what.replace(str(path), where), _A_PAGE if page else error.cure
                raise SourceError(error.where.replace(str(path), where), what, cure) from error

    def _fetch(self, path: Path, where: str) -> bool:
        """Whether it is a page for people, by what its server says."""
        request = Request(self.url)  # noqa: S310 - http or https, see `open_source`
        for header, value in self.settings.headers.items():
            request.add_unredirected_header(header, value)
        try:
            with urlopen(request, timeout=self.settings.request_seconds) as answer, path.open("wb") as file:  # noqa: S310 - as above
                most = MAX_FILE_BYTES if path.suffix.lower() in LINES_SUFFIXES else MAX_FETCHED_BYTES
                _copy(answer, file, where, most, time.monotonic() + self.settings.total_seconds)
                return answer.headers.get_content_type() in ("text/html", "application/xhtml+xml")
        except HTTPError as error:
            error.close()
            cure = _CREDENTIALS if error.code in (401, 403) else ""
            raise SourceError(where, f"cannot be fetched: {os_reason(error)}", cure) from error
        except (OSError, HTTPException, ValueError) as error:
            raise SourceError(where, f"cannot be fetched: {os_reason(error)}") from error


def _copy(answer: HTTPResponse, file: BinaryIO, where: str, most: int, deadline: float) -> None:
    size = 0
    chunk = b"nothing yet"
    try:
        unpack = unpacker(answer.headers.get("Content-Encoding", ""))
        while chunk:
            chunk = answer.read1(_CHUNK)
            for piece in unpack(chunk):
                size += len(piece)
                if size > most:
                    cure = "if you trust it, download it and name the file"
                    raise SourceError(where, f"is larger than {most:,} bytes", cure)
                file.write(piece)
            if time.monotonic() > deadline:
                raise SourceError(where, "was not fetched in time")
        if answer.length or answer.status == _PARTIAL:
            raise SourceError(where, "is not whole: its server sent only a part of it", "fetch it again")
    except zlib.error as error:
        raise SourceError(where, f"cannot be unpacked: {error}") from error


def _relocated(source: Source, path: str, where: str) -> Iterator[Converted]:
    for item in source.read():
        if isinstance(item, DeadLetter):
            yield msgspec.structs.replace(item, position=item.position.replace(path, where))
        else:
            yield item
