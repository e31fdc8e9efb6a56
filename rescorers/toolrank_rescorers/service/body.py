"""Reading a body: bounded in size and time, whatever its compression claims."""

from __future__ import annotations

import zlib

import anyio
from starlette.requests import ClientDisconnect, Request

from toolrank_rescorers.service.errors import Cancelled, Malformed, TooLarge, TooSlow, UnsupportedMedia
from toolrank_rescorers.service.gate import HeldBytes

_GZIP = 16 + zlib.MAX_WBITS


async def read_body(request: Request, limit: int, seconds: float, held: HeldBytes) -> bytes:
    """The body, decompressed, at most `limit` bytes of it.

    Raises:
        TooLarge, TooSlow, UnsupportedMedia, Malformed, Overloaded: see there.
        Cancelled: the caller left in the middle.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "", "gzip", "x-gzip"}:
        raise UnsupportedMedia(f"content encoding {encoding[:40]!r}: send gzip, or none")
    _refuse_announced(request.headers.get("content-length", ""), limit)
    try:
        with anyio.fail_after(seconds):
            return await _collect(request, limit, "gzip" in encoding, held)
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {seconds:g} s") from None
    except ClientDisconnect:
        raise Cancelled("the caller left before the body was complete") from None


def _refuse_announced(announced: str, limit: int) -> None:
    if announced.isdigit() and int(announced[:20]) > limit:
        raise TooLarge(f"a body of {announced[:20]} bytes: at most {limit:,}")


async def _collect(request: Request, limit: int, compressed: bool, held: HeldBytes) -> bytes:
    body = bytearray()
    inflate = zlib.decompressobj(_GZIP) if compressed else None
    async for chunk in request.stream():
        grown = chunk if inflate is None else _inflated(inflate, chunk, limit - len(body) + 1)
        if len(body) + len(grown) > limit:
            raise TooLarge(f"a body of more than {limit:,} bytes")
        held.grow(len(grown))
        body += grown
    if inflate is not None and not inflate.eof and body:
        raise Malformed("the gzip stream ends too early")
    return bytes(body)


def _inflated(inflate: zlib._Decompress, chunk: bytes, room: int) -> bytes:
    """At most `room` bytes of what the chunk holds: more are refused by whoever asks for fewer."""
    try:
        return inflate.decompress(chunk, room)
    except zlib.error as error:
        raise Malformed(f"no gzip: {error}") from error
