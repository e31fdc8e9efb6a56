"""Unpacks what came packed over HTTP, piece by piece: few bytes never become many at once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator

_PIECE = 64 * 1024
_ANY_WINDOW = 47
"""For zlib: gzip or zlib, as the data say."""

Unpack = Callable[[bytes], Iterable[bytes]]


def unpacker(encoding: str) -> Unpack:
    """A function that unpacks chunk after chunk of a body, by its `Content-Encoding`.

    Raises:
        zlib.error: an encoding that nobody asked for; or, from the function, a body that is not as it says.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk: [chunk]
    if name not in ("gzip", "x-gzip", "deflate"):
        raise zlib.error(f"nobody asked for the encoding {name[:50]!r}")
    packed = zlib.decompressobj(_ANY_WINDOW)

    def unpack(chunk: bytes) -> Iterator[bytes]:
        while chunk:
            piece = packed.decompress(chunk, _PIECE)
            if piece:
                yield piece
            chunk = packed.unconsumed_tail

    return unpack
