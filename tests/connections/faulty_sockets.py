"""Transports of httpx2 that fail at one point: when connecting, before an answer, or in the middle of one.

An exchange has three points: it connects, its answer begins (the server has done what was asked), its body
goes on. At the point of a number the connection breaks, or stands still for as long as the caller waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import anyio
import httpx2

HowBroken = Literal["break", "stall"]
_FOR_EVER = 3_600.0


class Points:
    """Counts the points of all exchanges, and fails at the one of a number; at none for 0."""

    def __init__(self, fail_at: int = 0, how: HowBroken = "break") -> None:
        self.passed: list[str] = []
        self._fail_at = fail_at
        self._how = how

    @property
    def failed(self) -> str:
        """The point that failed, empty for none."""
        return self.passed[self._fail_at - 1] if 0 < self._fail_at <= len(self.passed) else ""

    def _fails(self, point: str) -> bool:
        self.passed.append(point)
        return len(self.passed) == self._fail_at

    async def step(self, point: str) -> None:
        """Goes past one point, or stands still there until whoever waits gives up."""
        if self._fails(point):
            if self._how == "stall":
                await anyio.sleep(_FOR_EVER)
            raise _broken(point)


def _broken(point: str) -> httpx2.TransportError:
    if point.startswith("connect"):
        return httpx2.ConnectError("connection refused")
    return httpx2.ReadError("connection reset by peer")


def at_each(points: int, check: Callable[[int], None]) -> None:
    """Fails at each of so many points, all of them at once: what stands still does so beside others."""
    with ThreadPoolExecutor(points) as pool:
        list(pool.map(check, range(1, points + 1)))


class FaultyAsyncSockets(httpx2.AsyncBaseTransport):
    """Real sockets, with these points."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._real = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await self._points.step(f"connect for {request.method} {request.url.path}")
        answer = await self._real.handle_async_request(request)
        try:
            await self._points.step("answer")
        except BaseException:
            with anyio.CancelScope(shield=True):
                await answer.aclose()
            raise
        body = _AsyncBody(answer, self._points)
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=body)

    async def aclose(self) -> None:
        await self._real.aclose()


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, answer: httpx2.Response, points: Points) -> None:
        self._answer = answer
        self._points = points

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._answer.stream, httpx2.AsyncByteStream)
        async for chunk in self._answer.stream:
            yield chunk[: len(chunk) // 2]
            await self._points.step("body")
            yield chunk[len(chunk) // 2 :]

    async def aclose(self) -> None:
        await self._answer.aclose()
