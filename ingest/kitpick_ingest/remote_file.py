"""A file on a web server as a source: it is downloaded for each reading and not kept."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.request import Request, urlopen

import msgspec

from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import MAX_FILE_BYTES, os_reason
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.urls import shown_url

_CHUNK = 1024 * 1024


class RemoteFileSource:
    """A file behind a URL, read by the reader of its kind.

    Args:
        url: `http://…` or `https://…`.
        name: owner of the documents.
        open_file: opens the source of the fetched file, whose name is that of the URL's path.
        settings: limits and headers.
    """

    def __init__(
        self, url: str, name: str, open_file: Callable[[Path], Source], settings: LiveSettings | None = None
    ) -> None:
        self.name = name
        self._url = url
        self._open_file = open_file
        self._settings = settings or LiveSettings()

    def read(self) -> Iterator[Converted]:
        """Documents of the fetched file; positions of dead letters name the URL.

        Raises:
            SourceError: the URL cannot be fetched within the limits, or its content cannot be read.
        """
        where = shown_url(self._url)
        with tempfile.TemporaryDirectory(prefix="kitpick-") as folder:
            path = Path(folder, Path(where).name)
            self._fetch(path, where)
            yield from _relocated(self._open_file(path), str(path), where)

    def _fetch(self, path: Path, where: str) -> None:
        request = Request(self._url)  # noqa: S310 - http or https, see `open_source`
        for header, value in self._settings.headers.items():
            request.add_unredirected_header(header, value)
        try:
            with _open(request, self._settings) as answer, path.open("wb") as file:
                _copy(answer, file, where, time.monotonic() + self._settings.total_seconds)
        except (OSError, HTTPException, ValueError) as error:
            raise SourceError(where, f"cannot be fetched: {os_reason(error)}") from error


def _open(request: Request, settings: LiveSettings) -> HTTPResponse:
    answer: HTTPResponse = urlopen(request, timeout=settings.request_seconds)  # noqa: S310 - as above
    return answer


def _copy(answer: HTTPResponse, file: BinaryIO, where: str, deadline: float) -> None:
    size = 0
    while chunk := answer.read1(_CHUNK):
        size += len(chunk)
        if size > MAX_FILE_BYTES:
            raise SourceError(where, f"is larger than {MAX_FILE_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise SourceError(where, "was not fetched in time")
        file.write(chunk)


def _relocated(source: Source, path: str, where: str) -> Iterator[Converted]:
    try:
        for item in source.read():
            if isinstance(item, DeadLetter):
                yield msgspec.structs.replace(item, position=item.position.replace(path, where))
            else:
                yield item
    except SourceError as error:
        raise SourceError(error.where.replace(path, where), error.what, error.cure) from error
