"""A rescorer that behaves as a test tells it to: well, or as badly as services do."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

Call = dict[str, Any]
Behaviour = Callable[[Call, asyncio.StreamWriter], Awaitable[None]]


class Double:
    """An HTTP server in a thread. `calls` are the bodies it was sent, `sizes` their bytes on the way."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.behaviour: Behaviour = answering(backwards)
        self.calls: list[Call] = []
        self.sizes: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @contextmanager
    def behaving(self, behaviour: Behaviour) -> Iterator[Double]:
        """Behaves so within the block, and has forgotten earlier calls."""
        before, self.behaviour = self.behaviour, behaviour
        self.calls.clear()
        self.sizes.clear()
        self.headers.clear()
        self.paths.clear()
        try:
            yield self
        finally:
            self.behaviour = before

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._listening, ssl=self._tls))
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._listening.close()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _head(reader):
                start, *lines = head.split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.sizes.append(len(body))
                body = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
                call = json.loads(body) if body else {}
                self.calls.append(call)
                self.headers.append(headers)
                self.paths.append(start.split(" ")[1])
                await self.behaviour(call, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return ""
    return head.decode("latin-1")[:-4]


# What is answered


def backwards(call: Call) -> dict[str, Any]:
    """The fetched documents, then the candidates from last to first."""
    ids = [each["id"] for each in call.get("fetched", ())]
    ids += [each["id"] for each in reversed(call["candidates"])]
    return ranked(ids)


def ranked(ids: list[str], **more: Any) -> dict[str, Any]:
    results = [
        {"id": each, "rank": n, "score": float(1000 - n), "probability": None, "reasons": [f"double: {n}"]}
        for n, each in enumerate(ids, 1)
    ]
    return {"profile": "double", "results": results, "timings": {"total": 1.5}, "degraded": [], **more}


# How it is answered


def answering(make: Callable[[Call], object], after: float = 0.0) -> Behaviour:
    """A proper answer with what `make` returns as JSON, `after` seconds."""

    async def behave(call: Call, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(after)
        await _send(writer, 200, json.dumps(make(call)).encode())

    return behave


def status(code: int) -> Behaviour:
    async def behave(_: Call, writer: asyncio.StreamWriter) -> None:
        body = {"error": {"code": "x", "message": "m", "request_id": "r"}}
        await _send(writer, code, json.dumps(body).encode(), "Location: http://127.0.0.1:1/elsewhere\r\n")

    return behave


def raw_body(make: Callable[[Call], bytes]) -> Behaviour:
    """A body as it is, JSON or not."""

    async def behave(call: Call, writer: asyncio.StreamWriter) -> None:
        await _send(writer, 200, make(call))

    return behave


def forwarding(url: str, key: str, path: str = "/v1/rescore") -> Behaviour:
    """Hands the call to a real service, to the byte as the plugin writes it, and its answer back."""

    async def behave(call: Call, writer: asyncio.StreamWriter) -> None:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        body = json.dumps(call, ensure_ascii=False, separators=(",", ":")).encode()
        request = urllib.request.Request(f"{url}{path}", body, headers)
        code, body = await asyncio.get_running_loop().run_in_executor(None, _sent, request)
        await _send(writer, code, body)

    return behave


def forgetting(behaviour: Behaviour) -> Behaviour:
    """Knows no document by its hash, so that it is sent all that there is."""

    async def behave(call: Call, writer: asyncio.StreamWriter) -> None:
        hashes = [n for n, each in enumerate(call.get("documents", ())) if isinstance(each, str)]
        missing = answering(lambda _: {"protocol": 2, "missing": hashes})
        await (missing if hashes else behaviour)(call, writer)

    return behave


def _sent(request: urllib.request.Request) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


async def silent(_: Call, writer: asyncio.StreamWriter) -> None:
    """Accepts, and never says a word."""
    await _until_closed(writer)


async def headers_only(_: Call, writer: asyncio.StreamWriter) -> None:
    writer.write(_header(200, 100))
    await _until_closed(writer)


async def dripping(_: Call, writer: asyncio.StreamWriter) -> None:
    """A byte now and then: no timeout between two bytes would ever end it."""
    writer.write(_header(200, 100_000))
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless_headers(_: Call, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"X-More: " + b"y" * 1000 + b"\r\n")
        await writer.drain()


async def reset(_: Call, writer: asyncio.StreamWriter) -> None:
    """Ends the connection in the rudest way: RST instead of an answer."""
    _linger_not(writer)
    writer.transport.abort()
    raise ConnectionResetError


async def cut_off(call: Call, writer: asyncio.StreamWriter) -> None:
    """Announces a body, sends half of it, and is gone."""
    body = json.dumps(backwards(call)).encode()
    writer.write(_header(200, len(body)) + body[: len(body) // 2])
    await writer.drain()
    writer.close()
    raise ConnectionResetError


async def no_http(_: Call, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.org ESMTP\r\n\r\n")
    await writer.drain()
    raise ConnectionResetError


def huge(size: int, announced: bool) -> Behaviour:
    """A body of `size` bytes of JSON, with its length in the header or in chunks."""

    async def behave(_: Call, writer: asyncio.StreamWriter) -> None:
        chunk = b" " * 65_536
        encoding = f"Content-Length: {size}" if announced else "Transfer-Encoding: chunked"
        writer.write(f"HTTP/1.1 200 OK\r\n{encoding}\r\n\r\n".encode())
        for _n in range(size // len(chunk)):
            writer.write(chunk if announced else b"10000\r\n" + chunk + b"\r\n")
            await writer.drain()

    return behave


async def _send(writer: asyncio.StreamWriter, code: int, body: bytes, more: str = "") -> None:
    writer.write(_header(code, len(body), more) + body)
    await writer.drain()


def _header(code: int, length: int, more: str = "") -> bytes:
    lines = [f"HTTP/1.1 {code} X", "Content-Type: application/json", f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n" + more + "\r\n").encode()


async def _until_closed(writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        await asyncio.sleep(0.05)


def _linger_not(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
