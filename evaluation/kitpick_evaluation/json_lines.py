"""Typed JSON lines: one record a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.decoding import UNDECODABLE, decoder_of
from kitpick_foundation.text_files import open_utf8
from kitpick_ingest.json_files import reason_in_line

Record = TypeVar("Record")


def read_json_lines(path: Path, record: type[Record]) -> Iterator[Record]:
    """Yields every line as a record; empty lines are skipped.

    Raises:
        InvalidDataset: the file is missing, or a line is not such a record; names the line and the column.
    """
    decoder = decoder_of(record)
    try:
        with open_utf8(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _decoded(decoder, line, f"{path}:{number}")
    except UnicodeDecodeError as error:
        raise InvalidDataset(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        raise InvalidDataset(f"{path}: cannot be read: {error.strerror}") from error


def _decoded(decoder: msgspec.json.Decoder[Record], line: bytes, where: str) -> Record:
    try:
        return decoder.decode(line)
    except UNDECODABLE as error:
        whole = line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}")
        cure = "" if whole else "; each line is one whole JSON object, without a list around them"
        raise InvalidDataset(f"{where}: {reason_in_line(line, error)}{cure}") from error
