"""Opens a source from its specification: `toolbench:apis.jsonl`, `botocore:s3,ec2`, or a path or URL."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from kitpick_engines.text import has_utf8
from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.json_files import MAX_FILE_BYTES, os_reason
from kitpick_ingest.labels import LabelledSource, Labels
from kitpick_ingest.readers import READERS, Target
from kitpick_ingest.sample import READABLE_SUFFIXES, look_at, user_path
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.source_names import default_name
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.unpacking import unpacker
from kitpick_ingest.urls import is_url, shown_url, split_url

_CHUNK = 1024 * 1024
_CREDENTIALS = "give credentials with --header Authorization=VARIABLE"
_A_PAGE = f"the server sent a web page, mostly one to log in: {_CREDENTIALS}"


def open_source(
    spec: str,
    *,
    name: str | None = None,
    category: str | None = None,
    tenant: str | None = None,
    allowed: tuple[str, ...] = (),
    live: LiveSettings | None = None,
) -> Source:
    """Opens the source of a specification. For a path without a kind, the beginning is read.

    Args:
        spec: `KIND:TARGET`, or a path or URL whose kind is found out: a URL of a JSON or YAML file by its
            content once it is fetched, any other URL is a live MCP server.
        name: owner of the documents and first part of their ids; by default taken from the target.
        category: category of every document, instead of what the source says.
        tenant: tenant of every document.
        allowed: principals who may see the documents; empty means everybody.
        live: limits, headers and environment for what is reached over a network or started.

    Raises:
        UnknownSource: no reader understands the specification; the message names what was tried.
        MissingExtra: the kind needs a package that is not installed.
    """
    if not spec or "\0" in spec:
        raise UnknownSource("source", "the specification is empty or contains a NUL character", _known())
    for text in (name, category, tenant, *allowed):
        if text and not has_utf8(text):
            raise UnknownSource(repr(text), "is no text in UTF-8", "give another name, tenant or principal")
    source = _open(spec, name, live or LiveSettings())
    labels = Labels(category or "", tenant or "", allowed)
    return source if labels == Labels() else LabelledSource(source, labels)


def _open(spec: str, name: str | None, live: LiveSettings) -> Source:
    kind, text = _kind_and_target(spec)
    name = name or default_name(kind, text)
    at_url = READERS[kind].at_url if kind else "fetched"
    if at_url == "refused" and is_url(text):
        raise UnknownSource(
            shown_url(text), f"{kind} are read from a folder", "fetch it, and name the folder"
        )
    if at_url == "fetched" and is_url(text):
        return RemoteFileSource(text, name, lambda file: _open_file(file, kind, name, live), live)
    return READERS[kind].open(Target(text, name, live))


def _open_file(file: Path, kind: str, name: str, live: LiveSettings) -> Source:
    return READERS[kind or detect_kind(str(file))].open(Target(str(file), name, live))


def _kind_and_target(spec: str) -> tuple[str, str]:
    """Kind and target. The kind is empty for a file that has to be downloaded first."""
    kind, _, target = spec.partition(":")
    if kind in READERS:
        return kind, target
    if is_url(spec):
        suffix = PurePosixPath(split_url(spec).path).suffix.lower()
        return ("" if suffix in READABLE_SUFFIXES else "mcp"), spec
    return detect_kind(spec), spec


def detect_kind(spec: str) -> str:
    """Kind of a path by its content.

    Raises:
        UnknownSource: no reader recognises it.
    """
    try:
        sample = look_at(user_path(spec))
    except SourceError as error:
        raise UnknownSource(spec, f"names no known kind, and as a path {error.what}", _known()) from error
    for kind, reader in READERS.items():
        if reader.recognises(sample):
            return kind
    if sample.problem:
        raise UnknownSource(spec, sample.problem, "mend the file at this place")
    raise UnknownSource(spec, f"looks like none of {', '.join(READERS)}", _known())


def _known() -> str:
    return "write the kind before it: " + ", ".join(reader.form for reader in READERS.values())


class RemoteFileSource:
    """A file behind a URL, downloaded for each reading and not kept, and read by the reader of its kind.

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
            page = self._fetch(path, where)
            try:
                yield from _relocated(self._open_file(path), str(path), where)
            except SourceError as error:
                what, cure = error.what.replace(str(path), where), _A_PAGE if page else error.cure
                raise SourceError(error.where.replace(str(path), where), what, cure) from error

    def _fetch(self, path: Path, where: str) -> bool:
        """Whether it is a page for people, by what its server says."""
        request = Request(self._url)  # noqa: S310 - http or https, see `open_source`
        for header, value in self._settings.headers.items():
            request.add_unredirected_header(header, value)
        try:
            with _open_url(request, self._settings) as answer, path.open("wb") as file:
                _copy(answer, file, where, time.monotonic() + self._settings.total_seconds)
                return answer.headers.get_content_type() in ("text/html", "application/xhtml+xml")
        except HTTPError as error:
            error.close()
            cure = _CREDENTIALS if error.code in (401, 403) else ""
            raise SourceError(where, f"cannot be fetched: {os_reason(error)}", cure) from error
        except (OSError, HTTPException, ValueError) as error:
            raise SourceError(where, f"cannot be fetched: {os_reason(error)}") from error


def _open_url(request: Request, settings: LiveSettings) -> HTTPResponse:
    answer: HTTPResponse = urlopen(request, timeout=settings.request_seconds)  # noqa: S310 - as above
    return answer


def _copy(answer: HTTPResponse, file: BinaryIO, where: str, deadline: float) -> None:
    size = 0
    try:
        unpack = unpacker(answer.headers.get("Content-Encoding", ""))
        while chunk := answer.read1(_CHUNK):
            for piece in unpack(chunk):
                size += len(piece)
                if size > MAX_FILE_BYTES:
                    raise SourceError(where, f"is larger than {MAX_FILE_BYTES:,} bytes")
                file.write(piece)
            if time.monotonic() > deadline:
                raise SourceError(where, "was not fetched in time")
    except zlib.error as error:
        raise SourceError(where, f"cannot be unpacked: {error}") from error


def _relocated(source: Source, path: str, where: str) -> Iterator[Converted]:
    for item in source.read():
        if isinstance(item, DeadLetter):
            yield msgspec.structs.replace(item, position=item.position.replace(path, where))
        else:
            yield item
