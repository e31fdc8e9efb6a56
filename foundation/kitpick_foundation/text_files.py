"""Text files as UTF-8, in whatever Unicode encoding they were written: UTF-8, UTF-16 or UTF-32.

A byte order mark names the encoding. Without one, the places of the NUL bytes do: the text formats that
are read here hold ASCII characters. They are half NULs in UTF-16, three quarters in UTF-32, none in UTF-8.
"""

from __future__ import annotations

import codecs
import errno
import io
from pathlib import Path
from typing import BinaryIO

MAX_TEXT_BYTES = 64 * 1024 * 1024
"""Larger files that are read as a whole are refused, unless another bound is given."""

_HEAD = 4096
"""Bytes by which an encoding is told."""
_CHUNK = 64 * 1024
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before the mark of UTF-16, with which it begins
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
}


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a text by its first bytes, and how many of them are its byte order mark.

    Args:
        head: the beginning of the text, of which at most 4,096 bytes are looked at.
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding, len(mark)
    return _unmarked(head[:_HEAD]), 0


def as_utf8(data: bytes) -> bytes:
    """A whole text in UTF-8, without a byte order mark. Text in UTF-8 comes back as it is.

    Raises:
        UnicodeDecodeError: the text is damaged in UTF-16 or UTF-32.
    """
    encoding, mark = encoding_of(data)
    if encoding == "utf-8":
        return data[mark:]
    return _encoded(data[mark:].decode(encoding, "surrogatepass"))


def read_utf8(path: Path, limit: int = MAX_TEXT_BYTES) -> bytes:
    """The content of a text file in UTF-8, without a byte order mark.

    Args:
        path: the file.
        limit: bytes that it may have, as it lies there and in UTF-8.

    Raises:
        OSError: the file cannot be read, is compressed, or is larger (`EFBIG`).
        UnicodeDecodeError: it is damaged in UTF-16 or UTF-32.
    """
    with path.open("rb") as file:
        data = file.read(limit + 1)
    _refuse_packed(data, path)
    if len(data) <= limit:
        data = as_utf8(data)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes", str(path))
    return data


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> str:
    """The content of a text file, see `read_utf8`.

    Raises:
        OSError: the file cannot be read, is compressed, or is larger.
        UnicodeDecodeError: it is damaged.
    """
    return read_utf8(path, limit).decode("utf-8")


def open_utf8(path: Path) -> BinaryIO:
    """Opens a text file for reading as UTF-8 without a byte order mark; it is converted while it is read.

    Reading raises UnicodeDecodeError at a damaged place of UTF-16 or UTF-32. Bytes of UTF-8 are not checked.

    Raises:
        OSError: the file cannot be opened or read, or is compressed.
    """
    file = path.open("rb")
    try:
        head = file.peek(_HEAD)
        _refuse_packed(head, path)
        encoding, mark = encoding_of(head)
        file.read(mark)
    except OSError:
        file.close()
        raise
    return file if encoding == "utf-8" else io.BufferedReader(_Converted(file, encoding), _CHUNK)


class _Converted(io.RawIOBase):
    """The bytes of a text file in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready and (chunk := self._file.read(_CHUNK)):
            self._ready = _encoded(self._decoder.decode(chunk))
        if not self._ready:
            self._ready = _encoded(self._decoder.decode(b"", final=True))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


def _refuse_packed(head: bytes, path: Path) -> None:
    for mark, name in _PACKED.items():
        if head.startswith(mark):
            raise OSError(errno.EINVAL, f"it is compressed ({name}): unpack it first", str(path))


def _encoded(text: str) -> bytes:
    """In UTF-8; a lone surrogate stays one, and costs only the entry that holds it."""
    return text.encode("utf-8", "surrogatepass")


def _unmarked(head: bytes) -> str:
    """The encoding of a text without a mark: a character of UTF-16 has 2 or 4 bytes, one of UTF-32 has 4."""
    whole = head[: len(head) // 4 * 4] or head
    places = [_zeros(whole[place::4]) for place in range(4)]
    if min(places[2:]) > 0.9 and max(places[:1]) < 0.5:
        return "utf-32-le"
    if min(places[:2]) > 0.9 and max(places[3:]) < 0.5:
        return "utf-32-be"
    even, odd = _zeros(whole[::2]), _zeros(whole[1::2])
    if odd > 4 * even and odd > (_FEW if head[1] == 0 else _MANY):
        return "utf-16-le"
    if even > 4 * odd and even > (_FEW if head[0] == 0 else _MANY):
        return "utf-16-be"
    return "utf-8"


_FEW, _MANY = 1 / 16, 1 / 4
"""More of the characters are ASCII in JSON, YAML or TOML of any language: fewer where the first one is."""


def _zeros(column: bytes) -> float:
    """The share of NULs."""
    return column.count(0) / len(column) if column else 0.0
