"""Every point of a session with an upstream over HTTP fails once: a call is answered, or says why not."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from doors import UPSTREAM, until
from faulty_sockets import FaultyAsyncSockets, HowBroken, Points

from kitpick.mcp.config import UpstreamConfig
from kitpick.mcp.errors import UpstreamFailed
from kitpick.mcp.upstream import Upstream
from kitpick_ingest.sources.mcp_endpoint import Listing

session = pytest.importorskip("mcp.client.session")
pytestmark = [pytest.mark.needs("mcp"), pytest.mark.slow]


@contextmanager
def notes() -> Iterator[str]:
    """The server of the notes on a port of its own, as a URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen([sys.executable, str(UPSTREAM), "http", str(port)]) as process:
        try:
            anyio.run(listens, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


async def listens(port: int) -> None:
    """Waits until somebody does."""

    async def connects() -> bool:
        try:
            await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
        except OSError:
            return False
        return True

    await until(connects)


async def call(upstream: Upstream) -> str | UpstreamFailed:
    """What a note says, or why it cannot be read."""
    try:
        result: Any = await upstream.call("read_note", {"title": "x"})
    except UpstreamFailed as error:
        return error
    assert not result.is_error
    return str(result.content[0].text)


async def tried(url: str, points: Points, seconds: float) -> tuple[list[str | UpstreamFailed], list[Listing]]:
    """Answers to calls one after the other up to the first that is none but an error; lists it gave."""
    listings: list[Listing] = []

    async def take_in(listing: Listing) -> bool:
        listings.append(listing)
        return True

    config = UpstreamConfig(name="notes", target=url, allow=("*",), timeout_seconds=seconds)
    upstream = Upstream(config, take_in, lambda: FaultyAsyncSockets(points))
    answers: list[str | UpstreamFailed] = []
    async with anyio.create_task_group() as group:
        group.start_soon(upstream.run)
        with anyio.fail_after(120):
            while not answers or not isinstance(answers[-1], str):
                answers.append(await call(upstream))
            await upstream.settled.wait()
            while not listings:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    return answers, listings


def tools(listing: Listing) -> list[Any]:
    """As values: two protocols of one server may give their fields in another order."""
    return [json.loads(tool) for tool in listing.tools]


@pytest.mark.parametrize("how", ["break", "stall"])
def test_each_point_that_fails_is_named_to_the_caller_or_not_noticed(
    how: HowBroken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stalls is waited for several times as long as the whole takes here when nothing is wrong."""
    with notes() as url:
        anyio.run(tried, url, Points(), 60.0)  # imports what the server needs
        began = time.monotonic()
        usual, (goal, *_) = anyio.run(tried, url, Points(), 60.0)
        seconds = max(0.5, 4 * (time.monotonic() - began)) if how == "stall" else 60.0
        monkeypatch.setattr(session, "DISCOVER_TIMEOUT_SECONDS", min(seconds, 10.0))
        assert usual == ["read_note: x"]
        for fail_at in itertools.count(1):
            answers, listings = anyio.run(tried, url, points := Points(fail_at, how), seconds)
            if not points.failed:
                break
            assert answers[-1] == "read_note: x", "the session is opened again"
            for error in answers[:-1]:
                assert isinstance(error, UpstreamFailed)
                assert "notes" in str(error), points.failed
            assert all(tools(listing) == tools(goal) for listing in listings), points.failed
    assert fail_at > 6, "connect, answer and body of the session, the list and the call"
