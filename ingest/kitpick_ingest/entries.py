"""Entries of a source as documents, part by part and entry by entry.

What cannot be read, a whole file or one entry, becomes a dead letter and does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from kitpick_engines.document import ApiDocument, validate_document
from kitpick_engines.errors import InvalidDocument
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import FoundFile, find_files
from kitpick_ingest.json_files import JSON_SUFFIXES, UNREADABLE, Entry, reason_in_line, records, unusable_text
from kitpick_ingest.repeated_keys import repeated_in
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter

Converted = ApiDocument | DeadLetter
T = TypeVar("T")
Part = TypeVar("Part")
"""What a source is read in: files, or services."""


def read_parts(
    source: str, parts: Sequence[Part], read: Callable[[Part], Iterator[Converted]]
) -> Iterator[Converted]:
    """Documents of the parts, one part after the other; a dead letter for a part that cannot be read.

    Raises:
        SourceError: the only part there is cannot be read.
    """
    for part in parts:
        yield from read(part) if len(parts) == 1 else _isolated(source, part, read)


def _isolated(source: str, part: Part, read: Callable[[Part], Iterator[Converted]]) -> Iterator[Converted]:
    try:
        yield from read(part)
    except SourceError as error:
        yield DeadLetter(source, error.where, error.what)


def read_files(
    source: str, files: Sequence[FoundFile], read: Callable[[FoundFile], Iterator[Converted]]
) -> Iterator[Converted]:
    """Documents of the files, as `read_parts`; a dead letter for a file that is not to be read.

    Raises:
        SourceError: the only file there is cannot be read, or is not to be.
    """

    def read_found(file: FoundFile) -> Iterator[Converted]:
        if file.problem:
            raise SourceError(str(file.path), file.problem)
        yield from read(file)

    return read_parts(source, files, read_found)


class PathSource:
    """A source that lies at a path."""

    usual_name = ""
    """Name of a source that is given none."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self.name = name or self.usual_name


class FilesSource(PathSource):
    """A source that is a file, or a folder of such files."""

    suffixes = JSON_SUFFIXES
    """Endings of the files that are read in a folder."""

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the files, and of what is in them."""
        yield from read_files(self.name, find_files(self.path, self.suffixes), self._read_file)

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        raise NotImplementedError


def read_records(
    source: str, path: Path, kind: type[T], read: Callable[[Entry, T], Iterator[Converted]]
) -> Iterator[Converted]:
    """What `read` makes of each record of a file; before it, a dead letter for each key that stands twice.

    Raises:
        SourceError: the file cannot be read, or is not JSON.
    """
    for record in records(path):
        yield from repeated_in(source, record)
        yield from read_decoded(source, record, kind, read)


def read_decoded(
    source: str, entry: Entry, kind: type[T], read: Callable[[Entry, T], Iterator[Converted]]
) -> Iterator[Converted]:
    """What `read` makes of an entry of a type, or a dead letter where it, or a part of it, is of another."""
    try:
        yield from read(entry, decode_as(entry.raw, kind))
    except UNREADABLE as error:
        yield dead_letter(source, entry, entry.problem or reason_in_line(entry.raw, error))


class BadEntry(ValueError):
    """An entry that cannot become a document. The text is the reason in its dead letter."""


def documents(
    source: str, entries: Iterable[Entry], convert: Callable[[Entry], ApiDocument]
) -> Iterator[Converted]:
    """Converts entries one by one. An entry that fails becomes a dead letter with its position."""
    for entry in entries:
        yield from repeated_in(source, entry)
        yield convert_entry(source, entry, convert)


def convert_entry(source: str, entry: Entry, convert: Callable[[Entry], ApiDocument]) -> Converted:
    """A valid document, or a dead letter with the reason."""
    if problem := entry.problem or unusable_text(entry.raw):
        return dead_letter(source, entry, problem)
    try:
        return validate_document(convert(entry))
    except InvalidDocument as error:
        return dead_letter(source, entry, error.reason)
    except BadEntry as error:
        return dead_letter(source, entry, str(error))
    except UNREADABLE as error:
        return dead_letter(source, entry, reason_in_line(entry.raw, error))


def dead_letter(source: str, entry: Entry, why: str) -> DeadLetter:
    """The dead letter of an entry, with the beginning of its text."""
    excerpt = entry.raw[: 4 * MAX_EXCERPT].decode("utf-8", "replace").replace("\0", "\ufffd")[:MAX_EXCERPT]
    return DeadLetter(source, entry.position, why, excerpt)


def as_text(value: object) -> str:
    """A value as text: null is empty, other values become JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
