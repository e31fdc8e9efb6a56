"""Reads the beginning of a file or folder, to recognise the kind of source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kitpick_foundation.text_files import open_utf8
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import problem_of
from kitpick_ingest.json_files import JSON_SUFFIXES, UNREADABLE, os_reason, reason, records

READABLE_SUFFIXES = JSON_SUFFIXES | {".yaml", ".yml"}
_HEAD_BYTES = 64 * 1024
_MAX_FOLDERS = 1_000
"""How many folders are searched for readable files: somebody may have written `/`."""
_MAX_FILES = 20
"""How many files of a folder are looked at: a project has others before its description, by name."""


class Sample(NamedTuple):
    """The beginning of a file."""

    record: dict[str, Any]
    """The first record of a JSON file, empty where it is not an object."""
    head: str
    """The beginning of the file as text."""
    problem: str = ""
    """Why a file named as JSON cannot be read as such."""

    def has(self, *keys: str) -> bool:
        """Whether the first record has all these keys."""
        return all(key in self.record for key in keys)

    def inner(self, key: str) -> Sample | None:
        """The sample of the object under a key, None where there is none."""
        value = self.record.get(key)
        return self._replace(record=value) if isinstance(value, dict) else None

    def member(self, key: str) -> dict[str, Any]:
        """First member of the list under a key of the first record, empty where that is not an object."""
        value = self.record.get(key)
        first = value[0] if isinstance(value, list) and value else None
        return first if isinstance(first, dict) else {}


def user_path(text: str) -> Path:
    """The text as a path, with `~` expanded where that means a user."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def is_there(path: Path) -> bool:
    """Whether a path leads somewhere; what no file can be called does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def samples(path: Path) -> Iterator[Sample]:
    """Reads the beginning of a file, or of the first readable files of a folder.

    Raises:
        SourceError: nothing there, or not readable.
    """
    if not (is_there(path) and path.is_dir()):
        yield _sample(path)
        return
    empty = True
    for file in islice(_readable_files(path), _MAX_FILES):
        yield _sample(file)
        empty = False
    if empty:
        raise SourceError(str(path), "holds no JSON or YAML file")


def _sample(file: Path) -> Sample:
    try:
        with open_utf8(file) as stream:
            head = stream.read(_HEAD_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise SourceError(str(file), f"cannot be read: {os_reason(error)}") from error
    record, problem = _first_record(file)
    return Sample(record, head, problem if file.suffix.lower() in JSON_SUFFIXES else "")


def _readable_files(folder: Path) -> Iterator[Path]:
    """The files of a folder before those below it, each by name."""
    inside = folder.resolve()
    for place, folders, files in islice(os.walk(folder), _MAX_FOLDERS):
        folders.sort()
        named = (Path(place, f) for f in sorted(files) if Path(f).suffix.lower() in READABLE_SUFFIXES)
        yield from (file for file in named if not problem_of(file, inside))


def _first_record(file: Path) -> tuple[dict[str, Any], str]:
    """The first record if it is a JSON object, otherwise an empty one; and why nothing can be read."""
    try:
        entry = next(records(file), None)
        value = msgspec.json.decode(entry.raw) if entry else None
    except SourceError as error:
        return {}, error.what
    except UNREADABLE as error:
        return {}, reason(error)
    return value if isinstance(value, dict) else {}, ""
