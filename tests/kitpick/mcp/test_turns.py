"""What one caller asks without end keeps no other caller waiting: neither for a search nor for a server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from plain_server import USUAL, PlainServer

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
FLOOD = 60
"""Requests of one caller: more than there are threads."""


WEATHER = "shelf/shelf/get_weather"


class Shelf:
    """A source of one API."""

    name = "shelf"

    def read(self) -> Iterator[ApiDocument]:
        yield ApiDocument(WEATHER, "shelf", "", "shelf", "get_weather", "Current weather of a city: rain.")


class Held:
    """Lets nobody through, and knows how many wait, until it is opened."""

    def __init__(self) -> None:
        self.waiting = 0
        self._opened = threading.Event()

    def wait(self) -> None:
        self.waiting += 1
        assert self._opened.wait(240)

    @contextmanager
    def opened_at_the_end(self) -> Iterator[Held]:
        try:
            yield self
        finally:
            self._opened.set()


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "search": ("search_tools", {"query": "will it rain"}),
    "feedback": ("feedback", {"answer": "will it rain", "chosen": [WEATHER]}),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_flood_of_one_caller_keeps_no_other_waiting(
    what: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.proxy import Proxy
    from kitpick.mcp.tools import CatalogTools

    held, name_and_arguments = Held(), ASKED[what]
    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(Shelf())
        holding(catalog, what, held, monkeypatch)
        tools = CatalogTools(catalog, Proxy(catalog, McpConfig()), None, calls=False)

        async def main() -> None:
            async with anyio.create_task_group() as group:
                for _ in range(FLOOD):
                    group.start_soon(tools.answer, *name_and_arguments, Caller("many", tenant="many"))
                with held.opened_at_the_end(), anyio.fail_after(120):
                    while not held.waiting:
                        await anyio.sleep(0.02)
                    answer = await tools.answer(*name_and_arguments, Caller("few", tenant="few"))
                    assert not answer.is_error, answer.content
                    assert held.waiting <= FLOOD // 2

        anyio.run(main)
        assert held.waiting == FLOOD, "all of them are answered in the end"


def holding(catalog: Catalog, what: str, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the work of one tenant wait."""
    usual: Callable[..., Any] = getattr(catalog, what)

    def work(*given: Any, **more: Any) -> Any:
        if more["filter"].tenant == "many":
            held.wait()
        return usual(*given, **more)

    monkeypatch.setattr(catalog, what, work)


def test_calls_of_one_caller_that_hang_take_no_server_from_others() -> None:
    from kitpick.mcp.config import UpstreamConfig
    from kitpick.mcp.upstream import Upstream

    held = Held()

    def answer(message: dict[str, Any]) -> Any:
        if message["params"]["arguments"]:
            held.wait()
        return USUAL["tools/call"]

    async def main() -> None:
        async def take_in(_: Any) -> bool:
            return True

        config = UpstreamConfig("notes", server.url, allow=("*",), timeout_seconds=200.0, max_calls=4)
        upstream = Upstream(config, take_in, shared=True)
        async with anyio.create_task_group() as group:
            group.start_soon(upstream.run)
            for _ in range(2 * config.max_calls):
                group.start_soon(upstream.call, "read_note", {"hang": True}, None, "many")
            with held.opened_at_the_end(), anyio.fail_after(120):
                while held.waiting < 2:
                    await anyio.sleep(0.02)
                await upstream.call("read_note", {}, None, "few")
                assert held.waiting == 2, "half of them are left to others"
            group.cancel_scope.cancel()

    with PlainServer().running() as server:
        server.answers["tools/call"] = answer
        anyio.run(main)


def test_whoever_is_alone_has_all_of_a_server() -> None:
    from kitpick.mcp.turns import CallerTurns

    begun = 0

    async def main() -> None:
        async def work() -> None:
            nonlocal begun
            async with turns.of("local"):
                begun += 1
                await anyio.sleep_forever()

        turns = CallerTurns(4)
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(work)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert turns._limiters == {}, "nothing is kept of callers that are gone"

    anyio.run(main)
    assert begun == 4


def test_calls_that_wait_for_a_server_that_is_being_started_hold_up_no_search(settings: Settings) -> None:
    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.proxy import Proxy
    from kitpick.mcp.tools import CatalogTools

    waiting = 0

    class Starting(Proxy):
        async def settled(self, caller: Caller) -> list[str]:
            return ["notes"]

        async def taken_in(self, name: str) -> bool:
            nonlocal waiting
            waiting += 1
            await anyio.sleep_forever()
            raise AssertionError

    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(Shelf())
        tools = CatalogTools(catalog, Starting(catalog, McpConfig()), None, calls=True)

        async def main() -> None:
            async with anyio.create_task_group() as group:
                for _ in range(FLOOD):
                    group.start_soon(tools.answer, "call_tool", {"id": "notes/notes/read"}, Caller("one"))
                with anyio.fail_after(120):
                    while waiting < FLOOD:
                        await anyio.sleep(0.02)
                    answer = await tools.answer(*ASKED["search"], Caller("one"))
                assert not answer.is_error
                group.cancel_scope.cancel()

        anyio.run(main)
