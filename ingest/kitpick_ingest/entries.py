"""Converts the entries of a source to documents. An entry with an error becomes a dead letter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument, validate_document
from kitpick_engines.errors import InvalidDocument
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import JSON_SUFFIXES, UNREADABLE, Entry, reason, unusable_text
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter

Converted = ApiDocument | DeadLetter


class BadEntry(ValueError):
    """An entry that cannot become a document. The text is the reason in its dead letter."""


def documents(
    source: str, entries: Iterable[Entry], convert: Callable[[Entry], ApiDocument]
) -> Iterator[Converted]:
    """Converts entries one by one. An entry that fails becomes a dead letter with its position."""
    for entry in entries:
        yield convert_entry(source, entry, convert)


def of_each_file(source: str, path: Path, read: Callable[[Path], Iterator[Converted]]) -> Iterator[Converted]:
    """Applies a reader to a file, or to every JSON file below a folder, in the order of paths.

    A file of a folder that cannot be read costs only itself: it becomes a dead letter.

    Raises:
        SourceError: the only file cannot be read, or the folder holds none.
    """
    if not path.is_dir():
        yield from read(path)
        return
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in JSON_SUFFIXES)
    if not files:
        raise SourceError(str(path), "the folder holds no JSON file")
    for file in files:
        yield from _tolerating(source, file, read)


def _tolerating(source: str, file: Path, read: Callable[[Path], Iterator[Converted]]) -> Iterator[Converted]:
    try:
        yield from read(file)
    except SourceError as error:
        yield DeadLetter(source, str(file), error.what)


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
        return dead_letter(source, entry, reason(error))


def dead_letter(source: str, entry: Entry, why: str) -> DeadLetter:
    """The dead letter of an entry, with the beginning of its text."""
    excerpt = entry.raw[: 4 * MAX_EXCERPT].decode("utf-8", "replace").replace("\0", "\ufffd")[:MAX_EXCERPT]
    return DeadLetter(source, entry.position, why, excerpt)


def as_text(value: object) -> str:
    """A value as text: null is empty, other values become JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
