"""HTTP to an MCP server, bounded: an answer is counted while it is unpacked, and parsed only if it fits."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2
import msgspec

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_ingest.fetching import unpacker
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_messages import HeldMessages, unreadable
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.urls import split_url

_EVENT_BYTES = 1024 * 1024
"""Most bytes of one event that nobody asked for."""
_CALLS = frozenset({"tools/call", "resources/read", "prompts/get"})
_ENDLESS = frozenset({"", "subscriptions/listen"})
"""What is asked for where the answer is a stream of events without an end; empty for a GET."""
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END = 4
_DATA = re.compile(rb"^data:? ?", re.MULTILINE)
_REFUSAL = 300
_NOT_FOUND = 404


class AnswerRefused(httpx2.SSEError):
    """An answer above its limit, or packed in a way that cannot be read.

    The SDK lets the one request fail because of it, and the session go on.
    """


class _Asking(msgspec.Struct):
    method: str = ""
    id: int | str | None = None


def result_limit(method: str, settings: LiveSettings) -> int:
    """Bytes that the answer to a request may have."""
    return settings.max_result_bytes if method in _CALLS else settings.max_answer_bytes


def too_large(method: str, limit: int) -> str:
    """Why an answer was not read to its end."""
    field = "max_result_bytes" if method in _CALLS else "max_answer_bytes"
    return f"its answer to {method or 'a request'} is above the limit of {limit:,} bytes ({field})"


class BoundedSockets(httpx2.AsyncBaseTransport):
    """Carries the requests of one session, and reads no more of an answer than the request may cost.

    Args:
        url: where the server is.
        settings: the limits.
        output: is told what HTTP refuses.
        ended: is set when the server has forgotten the session.
        held: keeps what the SDK cannot parse, for the session.
        sockets: carries the bytes, in place of sockets of its own.
    """

    def __init__(
        self,
        url: str,
        settings: LiveSettings,
        output: ServerOutput,
        ended: anyio.Event,
        held: HeldMessages,
        sockets: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._held = held
        self._settings = settings
        self._output = output
        self._ended = ended
        self._sockets = sockets or httpx2.AsyncHTTPTransport(proxy=_proxy_of(url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer: whole where it is one message, as a stream where it is events."""
        asked = _asked(request)
        # Whoever packs an answer all the same gets it unpacked, piece by piece.
        request.headers["accept-encoding"] = "identity"
        try:
            answer = await self._sockets.handle_async_request(request)
        except httpx2.TransportError as error:
            if asked.id is None:
                raise
            # A connection that breaks costs its request; the SDK would end the session of all.
            return _error(asked, self._broken(error))
        self._note(request, answer)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        headers = [
            (name, value)
            for name, value in answer.headers.multi_items()
            if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
        ]
        if kind == "text/event-stream":
            unpacked = _Unpacked(answer, asked.method, self._bound(asked))
            stream = _Events(unpacked, partial(self._event, asked))
            return httpx2.Response(answer.status_code, headers=headers, stream=stream)
        return await self._whole(answer, headers, asked)

    async def aclose(self) -> None:
        """Closes the sockets."""
        await self._sockets.aclose()

    def _bound(self, asked: _Asking) -> int:
        return _EVENT_BYTES if asked.method in _ENDLESS else result_limit(asked.method, self._settings)

    def _broken(self, error: httpx2.TransportError) -> str:
        if isinstance(error, httpx2.TimeoutException):
            return f"no answer within {self._settings.request_seconds:g} s"
        asked = isinstance(error, httpx2.ConnectError)
        cure = ": is the server running, are its host and port right?" if asked else ""
        return f"{type(error).__name__}: {error}{cure}"

    def _note(self, request: httpx2.Request, answer: httpx2.Response) -> None:
        if request.method != "POST":
            return
        refused = answer.status_code >= _REFUSAL
        self._output.status = answer.status_code if refused else 0
        if answer.status_code == _NOT_FOUND and "mcp-session-id" in request.headers:
            self._ended.set()

    async def _whole(
        self, answer: httpx2.Response, headers: list[tuple[str, str]], asked: _Asking
    ) -> httpx2.Response:
        body = bytearray()
        stream = _Unpacked(answer, asked.method, self._bound(asked))
        try:
            async for piece in stream:
                body += piece
        except AnswerRefused as error:
            return _error(asked, str(error))
        except httpx2.TransportError as error:
            return _error(asked, self._broken(error))
        finally:
            await stream.aclose()
        content = bytes(body)
        if asked.id is not None and answer.status_code < _REFUSAL and _is_json(answer):
            texts = self._held.texts(content)
            if len(texts) != 1:
                return _error(asked, unreadable(asked.method, content))
            self._output.note_answer(asked.method, content)
            content = texts[0]
        return httpx2.Response(answer.status_code, headers=headers, content=content)

    def _event(self, asked: _Asking, event: bytes) -> bytes:
        """An event whose messages the SDK can parse, each as an event of its own."""
        lines = event.splitlines()
        data = b"\n".join(_DATA.sub(b"", line) for line in lines if line.startswith(b"data"))
        others = [line for line in lines if line and not line.startswith(b"data")]
        if not data or any(_names_another(line) for line in others):
            return event
        self._output.note_answer(asked.method, data)
        texts = self._held.texts(data)
        if not texts and asked.id is not None:
            texts = [_error(asked, unreadable(asked.method, data)).content]
        shown = (b"data: " + text.replace(b"\n", b"\ndata: ") for text in texts)
        return b"".join(b"\n".join([*others, each]) + b"\n\n" for each in shown)


class _Unpacked(httpx2.AsyncByteStream):
    """The body of an answer, unpacked piece by piece, up to a number of bytes in all or of each event."""

    def __init__(self, answer: httpx2.Response, method: str, limit: int) -> None:
        self._answer = answer
        self._method = method
        self._limit = limit
        self._before = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._answer.stream, httpx2.AsyncByteStream)
        size = 0
        try:
            unpack = unpacker(self._answer.headers.get("content-encoding", ""))
            async for chunk in _and_the_end(self._answer.stream):
                for piece in unpack(chunk):
                    size = self._counted(size, piece)
                    if size > self._limit:
                        raise AnswerRefused(too_large(self._method, self._limit))
                    yield piece
        except zlib.error as error:
            raise AnswerRefused(f"its answer cannot be unpacked: {error}") from error

    def _counted(self, size: int, piece: bytes) -> int:
        """Bytes so far; of events, those since the end of the last."""
        if self._method not in _ENDLESS:
            return size + len(piece)
        joined = self._before + piece  # an end may come in two pieces
        self._before = joined[-_LONGEST_END:]
        *_, end = 0, *(found.end() for found in _EVENT_END.finditer(joined))
        return len(joined) - end if end else size + len(piece)

    async def aclose(self) -> None:
        await self._answer.aclose()


async def _and_the_end(chunks: AsyncIterator[bytes] | httpx2.AsyncByteStream) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if chunk:
            yield chunk
    yield b""


class _Events(httpx2.AsyncByteStream):
    """A stream of events, of which each is changed once it is there as a whole."""

    def __init__(self, pieces: _Unpacked, change: Callable[[bytes], bytes]) -> None:
        self._pieces = pieces
        self._change = change

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun = bytearray()
        async for piece in self._pieces:
            start = max(0, len(begun) - 3)
            begun += piece
            while (end := _EVENT_END.search(begun, start)) is not None:
                yield self._change(bytes(begun[: end.end()]))
                del begun[: end.end()]
                start = 0

    async def aclose(self) -> None:
        await self._pieces.aclose()


def _names_another(line: bytes) -> bool:
    """Whether a line of an event says that it is no message."""
    name, _, value = line.partition(b":")
    return name == b"event" and value.strip() != b"message"


def _is_json(answer: httpx2.Response) -> bool:
    return answer.headers.get("content-type", "").lower().startswith("application/json")


def _asked(request: httpx2.Request) -> _Asking:
    if request.method != "POST":
        return _Asking()
    try:
        return decode_as(request.content, _Asking)
    except (httpx2.RequestNotRead, *UNDECODABLE):
        return _Asking()


def _error(asked: _Asking, reason: str) -> httpx2.Response:
    """An answer that says what is wrong with the one that came."""
    if asked.id is None:
        return httpx2.Response(202)
    error = {"code": -32603, "message": reason}
    content = json.dumps({"jsonrpc": "2.0", "id": asked.id, "error": error}).encode()
    return httpx2.Response(200, headers={"content-type": "application/json"}, content=content)


def _proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL."""
    parts = split_url(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    found = getproxies()
    return found.get(parts.scheme) or found.get("all")
