"""The session with an upstream as a machine of states: at each, each fault, and what the next call gets.

The model is small: a call is answered, or it says why not; and once the server answers as usual again, the
next call is answered, whatever came before. An error in an answer ends no session.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from msgspec.structs import replace
from plain_server import USUAL, PlainServer, slowly

from kitpick.mcp.config import UpstreamConfig
from kitpick.mcp.errors import UpstreamFailed
from kitpick.mcp.upstream import Upstream
from kitpick_ingest.sources.mcp_endpoint import Listing

pytestmark = pytest.mark.needs("mcp")

CODES = (-32000, -32001, -32002, -32020, -32021, -32022, -32042, -32600, -32601, -32602, -32603, -32700, 0, 7)
"""Of JSON-RPC, of MCP, of the SDK itself, and two that nobody defines."""
FAULTS: dict[str, Any] = {
    f"error {code}": {"error": {"code": code, "message": "no"}} for code in (-32000, -32022, -32601, 7)
}
FAULTS |= {f"HTTP {status}": status for status in (401, 404, 500)}
FAULTS |= {"close": "close", "no JSON": b"<html>", "no result": {"result": None}}
STATES = ("initialize", "tools/list", "tools/call", "ping")
PATIENCE = 240.0
STDIO = Path(__file__).with_name("plain_stdio.py")


def machine(server: PlainServer, ask: Callable[[Upstream], Awaitable[None]], **config: Any) -> list[Listing]:
    """Runs a conversation with an upstream; returns the lists that it gave."""
    listings: list[Listing] = []
    anyio.run(partial(conversation, server.url, ask, listings, **config))
    return listings


def machine_until_listed(server: PlainServer, ask: Callable[[Upstream], Awaitable[None]]) -> list[Listing]:
    """The same, and waits for the first list: calls are answered while it is being read."""
    listings: list[Listing] = []

    async def then_listed(upstream: Upstream) -> None:
        await ask(upstream)
        while not listings:
            await anyio.sleep(0.02)

    anyio.run(partial(conversation, server.url, then_listed, listings))
    return listings


async def conversation(
    target: str, ask: Callable[[Upstream], Awaitable[None]], listings: list[Listing], **config: Any
) -> None:
    async def take_in(listing: Listing) -> bool:
        listings.append(listing)
        return True

    settings = {"allow": ("*",), "timeout_seconds": 20.0} | config
    upstream = Upstream(UpstreamConfig(name="notes", target=target, **settings), take_in)
    async with anyio.create_task_group() as group:
        group.start_soon(upstream.run)
        with anyio.fail_after(PATIENCE):
            await ask(upstream)
        group.cancel_scope.cancel()


async def called(upstream: Upstream, tool: str = "read_note") -> str:
    """The answer to a call, or why there is none."""
    try:
        return str((await upstream.call(tool, {})).content[0].text)  # type: ignore[union-attr]
    except UpstreamFailed as error:
        return str(error)


async def recovered(upstream: Upstream, tool: str = "read_note") -> None:
    """A call is answered within a few."""
    while await called(upstream, tool) != "fine":
        await anyio.sleep(0.05)


async def hurt_everywhere(fault: str, server: PlainServer, upstream: Upstream) -> None:
    """The fault at each state: of a session that is open, and of one that has to be opened."""
    server.headers["mcp-session-id"] = "one"
    await recovered(upstream)
    for forgotten, states in ((False, STATES), (True, STATES[:2])):
        for state in states:
            server.answers[state] = FAULTS[fault]
            if forgotten:
                server.answers["tools/call"] = 404
            for _ in range(2):
                said = await called(upstream)
                assert said == "fine" or said.startswith("the server 'notes' failed: "), (fault, state, said)
            server.answers |= USUAL
            await recovered(upstream)


@pytest.mark.slow
def test_after_each_fault_at_each_state_the_next_calls_are_answered() -> None:
    async def one(fault: str, server: PlainServer, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            await conversation(server.url, partial(hurt_everywhere, fault, server), [], poll_seconds=0.5)

    async def main() -> None:
        limiter = anyio.CapacityLimiter(6)
        async with anyio.create_task_group() as group:
            for fault, server in servers.items():
                group.start_soon(one, fault, server, limiter)

    with ExitStack() as stack:
        servers = {fault: stack.enter_context(PlainServer().running()) for fault in FAULTS}
        anyio.run(main)


def test_a_slow_answer_costs_its_call_alone() -> None:
    with PlainServer().running() as server:

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            sessions = server.times("initialize")
            server.answers["tools/call"] = slowly(USUAL["tools/call"], 30.0)
            assert "no answer within 5 s" in await called(upstream)
            server.answers["tools/call"] = USUAL["tools/call"]
            await recovered(upstream)
            assert server.times("initialize") == sessions

        machine(server, ask, timeout_seconds=5.0)


def test_an_error_in_an_answer_costs_its_call_and_no_session() -> None:
    with PlainServer().running() as server:

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            sessions = server.times("initialize")
            for code in CODES * 2:
                server.answers["tools/call"] = {"error": {"code": code, "message": f"id is {code}"}}
                assert await called(upstream) == f"the server 'notes' failed: id is {code}"
                server.answers["tools/call"] = USUAL["tools/call"]
                assert await called(upstream) == "fine"
            assert server.times("initialize") == sessions

        machine(server, ask)


def test_one_callers_error_leaves_the_calls_of_others_alone() -> None:
    with PlainServer().running() as server:

        def answer(message: dict[str, Any]) -> Any:
            if message["params"]["arguments"].get("bad"):
                return {"error": {"code": -32000, "message": "no"}}
            return slowly(USUAL["tools/call"], 0.2)(message)

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            server.answers["tools/call"] = answer
            said: list[str] = []

            async def good() -> None:
                said.append(await called(upstream))

            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(good)
                with pytest.raises(UpstreamFailed, match="no"):
                    await upstream.call("read_note", {"bad": True})
            assert said == ["fine"] * 3

        machine(server, ask)


@pytest.mark.parametrize("fault", ["HTTP 500", "close", "error -32000"])
def test_calls_that_wait_for_a_server_hear_that_it_cannot_be_reached(fault: str) -> None:
    with PlainServer().running() as server:
        server.answers["initialize"] = FAULTS[fault]

        async def ask(upstream: Upstream) -> None:
            assert (await called(upstream)).startswith("the server 'notes' failed: ")
            server.answers["initialize"] = USUAL["initialize"]
            await recovered(upstream)

        assert machine_until_listed(server, ask)


@pytest.mark.parametrize(
    ("status", "cure"), [(401, "wants credentials"), (404, "often is /mcp"), (503, "try later")]
)
def test_a_status_of_http_is_told_with_its_cure(status: int, cure: str) -> None:
    with PlainServer().running() as server:
        server.answers |= dict.fromkeys(("initialize", "server/discover"), status)

        async def ask(upstream: Upstream) -> None:
            said = await called(upstream)
            assert f"HTTP {status}" in said
            assert cure in said

        machine(server, ask)


def test_a_server_that_forgot_the_session_is_given_a_new_one() -> None:
    with PlainServer().running() as server:
        server.headers["mcp-session-id"] = "first"

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            server.answers["tools/call"] = 404
            assert "HTTP 404" in await called(upstream)
            server.answers["tools/call"] = USUAL["tools/call"]
            assert await called(upstream) == "fine"
            assert server.times("initialize") == 2

        machine(server, ask)


def started(
    ask: Callable[[Upstream], Awaitable[None]], listings: list[Listing], seconds: float, poll: float = 0.2
) -> None:
    """Runs a conversation with a server over standard streams, which has so long for each answer."""
    target = f"stdio:{shlex.join([sys.executable, '-I', '-S', str(STDIO)])}"
    anyio.run(partial(conversation, target, ask, listings, timeout_seconds=seconds, poll_seconds=poll))


def test_a_change_is_followed_though_the_server_declared_that_it_announces_none() -> None:
    listings: list[Listing] = []

    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        while not listings:
            await anyio.sleep(0.02)
        assert await called(upstream, "announce") == "fine"
        while b"paint_picture" not in listings[-1].tools[-1]:
            await anyio.sleep(0.02)

    started(ask, listings, 60.0, poll=3_600.0)


async def given_up(log: pytest.LogCaptureFixture) -> None:
    """Waits until the session was ended for want of an answer."""
    while "upstream notes: " not in log.text:
        await anyio.sleep(0.02)
    log.clear()


def test_a_server_that_is_silent_in_a_call_is_given_up() -> None:
    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        patient, upstream.config = upstream.config, replace(upstream.config, timeout_seconds=0.5)
        assert "no answer within 0.5 s" in await called(upstream, "hang")
        upstream.config = patient
        await recovered(upstream)

    started(ask, [], 60.0)


def test_a_server_that_is_half_dead_is_given_up_and_started_again(caplog: pytest.LogCaptureFixture) -> None:
    listings: list[Listing] = []

    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        while not listings:
            await anyio.sleep(0.02)
        await called(upstream, "stall")
        await given_up(caplog)
        while b"paint_picture" not in listings[-1].tools[-1]:
            await recovered(upstream, "learn")  # again where a busy machine made it be given up once more

    started(ask, listings, 5.0)
    assert b"paint_picture" not in listings[0].tools[-1], "another process, another list"


def test_a_server_whose_process_stands_still_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        (frozen,) = [each for each in psutil.Process().children() if str(STDIO) in each.cmdline()]
        frozen.send_signal(signal.SIGSTOP)
        try:
            await given_up(caplog)
            await recovered(upstream)
            assert not frozen.is_running()
        finally:
            with suppress(psutil.NoSuchProcess):
                frozen.kill()

    started(ask, [], 5.0)
