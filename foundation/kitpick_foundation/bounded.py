"""Reads what another program sends, bounded in size and in time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class MoreThanBound(Exception):
    """There is more than was asked for; the text says how much that is."""


def read_bounded(read: Callable[[], bytes], most: int, until: float = math.inf) -> bytes:
    """All of it, at most `most` bytes.

    Args:
        read: the next piece, empty at the end. What came packed comes from here unpacked, a little at a time.
        most: bytes that are kept.
        until: `time.monotonic()` at which the end must have come.

    Raises:
        MoreThanBound: there is more.
        TimeoutError: the end did not come in time.
    """
    body = bytearray()
    while piece := read():
        if len(body) + len(piece) > most:
            raise MoreThanBound(f"more than {most:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError("the end of the answer did not come in time")
        body += piece
    return bytes(body)
