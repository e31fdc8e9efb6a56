"""Reads a request body, limited in size, time and number of values, also when it is compressed.

Values are counted without decoding them.
"""

from __future__ import annotations

import zlib

import numpy as np
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

from kitpick_service.errors import (
    Cancelled,
    Malformed,
    ServiceError,
    TooLarge,
    TooSlow,
    Unready,
    UnsupportedMedia,
)
from kitpick_service.gate import Gate, HeldBytes
from kitpick_service.settings import ServiceSettings

_MARKS = b",[{"
_FEW = 10_000


def count_values(body: bytes) -> int:
    """An upper bound, give or take one, of the strings, numbers, lists and objects in a body.

    A value follows a comma or begins a list or an object. Marks inside of strings count while there are few;
    where that could matter, strings are left out. Linear in time, whatever the body holds.
    """
    marks = sum(body.count(mark) for mark in _MARKS)
    if marks <= _FEW:
        return marks
    # Without escapes, every other quote ends a string. Outside of strings there are none in JSON.
    plain = np.frombuffer(body.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    inside = np.logical_xor.accumulate(plain == ord('"'))
    return int(sum(np.count_nonzero((plain == mark) & ~inside) for mark in _MARKS))


def decoded_bytes(content: bytes) -> int:
    """About how many bytes a JSON text takes with its decoded values."""
    return len(content) + _BYTES_A_VALUE * (1 + count_values(content))


_GZIP = 16 + zlib.MAX_WBITS
_BYTES_A_VALUE = 100
"""Bytes of a decoded JSON value: measured, at most 107."""
_LONG = 2**18
"""Bytes beyond which counting is no work for the event loop; a compressed body grows by so many at a time."""


async def read_body(request: Request, settings: ServiceSettings, held: HeldBytes) -> bytes:
    """The decompressed body; `held` then has room for its decoded values.

    Raises:
        TooLarge: it is larger than the settings allow, packed or unpacked.
        TooSlow: it did not arrive in time.
        Unready: it was not whole when the process was told to stop.
        UnsupportedMedia, Malformed: its encoding is not known, or it is broken.
        Overloaded: there is no room for it beside the bodies of others.
        Cancelled: the caller left in the middle.
    """
    limit, seconds = settings.max_body_bytes, settings.body_seconds
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "", "gzip", "x-gzip"}:
        raise UnsupportedMedia(f"content encoding {encoding[:40]!r}: send gzip, or none")
    _refuse_announced(request.headers.get("content-length", ""), limit)
    body = None
    try:
        with held.gate.waiting(seconds):
            body = await _collect(request, limit, "gzip" in encoding, held)
    except ClientDisconnect:
        raise Cancelled("the caller left before the body was complete") from None
    if body is None:
        raise _not_whole(held.gate, seconds)
    values = await run_sync(count_values, body) if len(body) > _LONG else count_values(body)
    if values > settings.max_values:
        # Sixteen megabytes of `[],` would be 400 when decoded, and keep the interpreter for seconds.
        raise TooLarge(f"a body of more than {settings.max_values:,} values")
    held.grow(_BYTES_A_VALUE * values)
    return body


def _not_whole(gate: Gate, seconds: float) -> ServiceError:
    if gate.draining:
        return Unready("this copy stops, and the body was not whole")
    return TooSlow(f"the body did not arrive within {seconds:g} s")


def _refuse_announced(announced: str, limit: int) -> None:
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise TooLarge(f"a body of {announced[:20]} bytes: at most {limit:,}")


async def _collect(request: Request, limit: int, compressed: bool, held: HeldBytes) -> bytes:
    body, received = bytearray(), 0
    inflate = zlib.decompressobj(_GZIP) if compressed else None
    async for chunk in request.stream():
        received += len(chunk)
        packed: bytes | None = chunk
        while packed is not None:
            piece = packed if inflate is None else await run_sync(_inflated, inflate, packed)
            if max(received, len(body) + len(piece)) > limit:
                raise TooLarge(f"a body of more than {limit:,} bytes")
            held.grow(len(piece))
            body += piece
            packed = None if inflate is None or len(piece) < _LONG else inflate.unconsumed_tail
    if inflate is not None and not inflate.eof and body:
        raise Malformed("the gzip stream ends too early")
    return bytes(body)


def _inflated(inflate: zlib._Decompress, packed: bytes) -> bytes:
    """The next decompressed bytes, at most `_LONG`: if as many, there may be more.

    For a thread beside the event loop, because a packet can hold many megabytes. Piece by piece, because
    room for each is asked for when it is there.
    """
    try:
        piece = inflate.decompress(packed, _LONG)
    except zlib.error as error:
        raise Malformed(f"no gzip: {error}") from error
    if inflate.unused_data:
        # It would be kept, and copied with every chunk that follows.
        raise Malformed("the gzip stream ends before the body does")
    return piece
