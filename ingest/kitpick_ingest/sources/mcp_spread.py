"""Messages that a server spreads over several lines, though the protocol wants each in one."""

from __future__ import annotations

import re

_STRING = re.compile(rb'"(?:[^"\\]|\\.|\\$)*(?:"|$)')
"""A string of JSON, which never goes beyond its line."""
_PART = re.compile(rb'\s*(?:["{}\[\],:\d-]|true|false|null|$)')
"""How a line of JSON begins."""


class SpreadMessage:
    """Puts lines together that begin an object or a list of JSON, until it ends."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._depth = 0
        self._skips = False

    @property
    def size(self) -> int:
        """Bytes that were put together so far; 0 where nothing was begun, or too much."""
        return len(self._held)

    def beginning(self, size: int) -> bytes:
        """The first of them."""
        return bytes(self._held[:size])

    def takes(self, line: bytes) -> bool:
        """Whether a line begins something that goes on, or goes on with what was begun."""
        if self._depth:
            return _PART.match(line) is not None
        return line.lstrip()[:1] in (b"{", b"[") and _deeper(line) > 0

    def add(self, line: bytes) -> bytes:
        """The whole once this line ends it, else nothing."""
        self._depth = max(0, self._depth + _deeper(line))
        if not self._skips:
            self._held += line + b"\n"
        return b"" if self._depth else self.drop()

    def skip(self) -> bytes:
        """Gives out what was put together, and goes on to its end: it is too large."""
        held = bytes(self._held)
        self._held, self._skips = bytearray(), True
        return held

    def drop(self) -> bytes:
        """Gives out what was put together, and begins anew."""
        held = bytes(self._held)
        self._held, self._depth, self._skips = bytearray(), 0, False
        return held


def _deeper(line: bytes) -> int:
    """By how many brackets a line goes deeper than it comes back."""
    bare = _STRING.sub(b"", line)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
