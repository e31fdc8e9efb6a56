"""Reads JSON and JSON Lines, with the exact bytes of every value and its position in the file."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from kitpick_foundation.decoding import decode_as
from kitpick_foundation.text_files import open_utf8, read_utf8
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_values import pointer

MAX_FILE_BYTES = 1024 * 1024 * 1024
"""A single JSON document is held in memory as a whole; one above this size is refused."""
MAX_LINE_BYTES = 16 * 1024 * 1024
"""Four times what a document may encode to, room for escapes: a longer line cannot become a document."""

LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
JSON_SUFFIXES = LINES_SUFFIXES | {".json"}

_SURROGATE = re.compile(
    rb"(?<!\\)((?:\\\\)*)"  # an even number of backslashes: what follows is an escape, not text
    rb"(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_BYTE = re.compile(r"\(byte (\d+)\)")
"""How msgspec names a place."""
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Exceptions of decoding a JSON value; `reason` puts them into words."""

T = TypeVar("T")


class Entry(NamedTuple):
    """One JSON value as it is in the file, with its position."""

    position: str
    raw: bytes
    problem: str = ""
    """Why the value cannot be read, where that is known before it is parsed."""


def read_file(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Content of a file in UTF-8, whatever Unicode encoding it has, without a byte order mark.

    Raises:
        SourceError: the file cannot be read, or is larger than `limit` bytes.
    """
    try:
        return read_utf8(path, limit)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.EFBIG:
            what = f"is larger than {limit:,} bytes"
            raise SourceError(str(path), what, "split it into several files") from error
        raise SourceError(str(path), f"cannot be read: {os_reason(error)}") from error


def parse(data: bytes, where: str, type: type[T]) -> T:  # noqa: A002
    """The JSON value of a whole document.

    A lone surrogate has no UTF-8 form and would make the whole document unreadable: it is replaced by a NUL
    character, which costs only the entry that holds it (see `unusable_text`).

    Raises:
        SourceError: not JSON, not of the wanted type, or nested too deeply.
    """
    try:
        return decode_as(data, type)
    except UNREADABLE as error:
        repaired = without_lone_surrogates(data)
        if repaired != data:
            return parse(repaired, where, type)
        raise SourceError(where, f"cannot be parsed as JSON: {_reason_in(data, error, _place)}") from error


def reason(error: Exception) -> str:
    """One line that says why a value could not be parsed."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 ({error.reason} at byte {error.start})"
    return str(error)


def reason_in_line(line: bytes, error: Exception) -> str:
    """The reason with the column (from 1, in characters) in a line of JSON Lines."""
    return _reason_in(line, error, _column)


def _reason_in(data: bytes, error: Exception, place: Callable[[bytes, int], str]) -> str:
    """The reason with a place in the text instead of the number of a byte."""
    if isinstance(error, UnicodeDecodeError):  # it counts from the beginning of a text, not of the data
        return f"not UTF-8 ({error.reason} at {place(data, _valid_bytes(data))})"
    why = reason(error)
    if "truncated" in why:
        return f"{why} ({place(data, len(data))})"
    return _BYTE.sub(lambda found: f"({place(data, int(found[1]))})", why)


def _valid_bytes(data: bytes) -> int:
    """How many bytes are UTF-8 before the first that is not."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def _place(data: bytes, byte: int) -> str:
    """Line and column, both from 1, the column in characters."""
    line = data.count(b"\n", 0, byte) + 1
    return f"line {line}, {_column(data, byte)}"


def _column(data: bytes, byte: int) -> str:
    start = data.rfind(b"\n", 0, byte) + 1
    before = data[start:byte].decode("utf-8", "replace")
    return f"column {len(before) + 1}"


def os_reason(error: Exception) -> str:
    """One line that says why a file could not be read, without its path."""
    cause = getattr(error, "reason", None)  # urllib wraps what the system said
    told = cause if isinstance(cause, OSError) else error
    return getattr(told, "strerror", None) or str(told)


def unusable_text(raw: bytes) -> str:
    """Why no engine can hold this JSON value, or an empty string."""
    if b"\\u0000" in raw and _NUL.search(raw):
        return "text contains a NUL character or a lone surrogate"
    return ""


def records(path: Path) -> Iterator[Entry]:
    """The records of a file: lines of JSON Lines, members of a top-level array, or its only value.

    Raises:
        SourceError: the file cannot be read, or is not JSON.
    """
    if is_json_lines(path):
        yield from json_lines(path)
        return
    data = read_file(path)
    if data.lstrip()[:1] == b"[":
        for index, value in enumerate(parse(data, str(path), list[msgspec.Raw])):
            yield Entry(within(str(path), index), bytes(value))
    else:
        yield Entry(str(path), bytes(parse(data, str(path), msgspec.Raw)))


def within(position: str, *parts: str | int) -> str:
    """The position of a value inside the value at `position`: a file name, `#` and a JSON pointer."""
    return f"{position}{'' if '#' in position else '#'}{pointer(*(str(part) for part in parts))}"


def is_json_lines(path: Path) -> bool:
    """Whether a file holds one JSON value a line, by its suffix or by its first line.

    Raises:
        SourceError: the file cannot be read.
    """
    if path.suffix.lower() in LINES_SUFFIXES:
        return True
    try:
        with open_utf8(path) as file:
            first = file.readline(MAX_LINE_BYTES).strip()
            more = bool(file.readline(MAX_LINE_BYTES).strip())
    except (OSError, ValueError) as error:
        raise SourceError(str(path), f"cannot be read: {os_reason(error)}") from error
    return more and first.startswith(b"{") and first.endswith(b"}") and _is_json(first)


def json_lines(path: Path) -> Iterator[Entry]:
    """Every line that is not blank, without its line end, at most `MAX_LINE_BYTES` of it in memory.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        with open_utf8(path) as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                position = f"{path}:{number}"
                complete = line.endswith(b"\n") or len(line) < MAX_LINE_BYTES
                if not complete:
                    while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                        pass
                    yield Entry(position, line[:1000], f"the line is longer than {MAX_LINE_BYTES:,} bytes")
                elif text := line.strip():
                    yield Entry(position, text)
    except (OSError, ValueError) as error:
        raise SourceError(str(path), f"cannot be read: {os_reason(error)}") from error


def _is_json(data: bytes) -> bool:
    try:
        decode_as(data, msgspec.Raw)
    except UNREADABLE:
        return False
    return True


def without_lone_surrogates(data: bytes) -> bytes:
    """JSON with NUL characters, of the same length, for escapes that have no UTF-8 form."""
    return _SURROGATE.sub(lambda found: found[0] if found[2] else found[1] + b"\\u0000", data)
