"""The door over servers that change, hang, come and go: the catalog and the clients hear of it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from doors import PATIENCE, UPSTREAM, Door, at_stdio, at_the_door, at_url, serving, until
from waiting import eventually, free_port, listens

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_service.keys import digest

# What is found and listed is asked here, not in which order: other tests of the door do that.
pytestmark = [pytest.mark.needs("weights", "onnxruntime", "mcp"), pytest.mark.usefixtures("no_cross_encoder")]


def upstream(name: str, target: str = "", **more: Any) -> str:
    """A table of the configuration."""
    fields = {
        "name": name,
        "target": target or f"stdio:{shlex.join([sys.executable, str(UPSTREAM), 'stdio'])}",
    }
    fields |= {"allow": ["*"], "timeout_seconds": 60.0, **more}
    return "[[upstreams]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "mcp.toml"


async def settled(door: Door) -> None:
    """All servers were taken in."""
    await door.settled()


async def finds(door: Door, tool_id: str) -> bool:
    found = await door.search(tool_id.rpartition("/")[2].replace("_", " "), k=20)
    return any(tool["id"] == tool_id for tool in found["tools"])


async def answers(door: Door) -> bool:
    """Whether the server of the notes can be called."""
    return not (await door.call("notes/notes/read_note", title="x")).is_error


def test_what_an_upstream_announces_reaches_the_catalog_and_the_clients(
    settings: Settings, config: Path
) -> None:
    config.write_text(upstream("notes", listed=["paint_*", "read_note"]))

    async def ask(door: Door) -> None:
        await settled(door)
        first = await door.tools()
        assert [name for name in first if name.startswith("notes_")] == [first[-1]], "as configured"
        assert first[-1].startswith("notes_read_note_")
        assert not (await door.client.call_tool(first[-1], {"title": "x"})).is_error, "called by its name"
        async with door.client.listen(tools_list_changed=True) as subscription:
            await door.call("notes/notes/learn", title="x")
            with anyio.fail_after(PATIENCE):
                await anext(aiter(subscription))
        (new,) = set(await door.tools()) - set(first)
        assert new.startswith("notes_paint_picture_")
        assert await finds(door, "notes/notes/paint_picture"), "the clients are told when it can be found"
        assert "upstream notes: +1 ~0 -0, 1 embedded" in door.log(), "only what is new was embedded"
        answer = await door.client.call_tool(new, {"title": "x"})
        assert answer.content[0].text == "paint_picture: x"
        assert "there are search_tools" in await door.problem("notes_hang_abcdef")

    at_the_door(ask, "--config", str(config))


def test_a_client_of_an_older_protocol_is_told_unasked(settings: Settings, config: Path) -> None:
    config.write_text(upstream("notes", listed=["paint_*"]))
    told = anyio.Event()

    async def heard(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.set()

    async def main() -> None:
        async with at_stdio("--config", str(config), mode="legacy", message_handler=heard) as door:
            assert door.client.server_capabilities.tools.list_changed
            await settled(door)
            before = await door.tools()
            await door.call("notes/notes/learn", title="x")
            with anyio.fail_after(PATIENCE):
                await told.wait()
            assert len(await door.tools()) == len(before) + 1

    anyio.run(main)


def test_clients_of_an_older_protocol_over_http_are_told_unasked(settings: Settings, config: Path) -> None:
    config.write_text(upstream("notes", listed=["paint_*"]))
    heard: list[str] = []

    def listening(name: str) -> Any:
        async def hear(message: object) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                heard.append(name)

        return hear

    async def main(url: str) -> None:
        async with (
            at_url(url, mode="legacy", message_handler=listening("one")) as one,
            at_url(url, mode="legacy", message_handler=listening("other")) as other,
        ):
            assert one.client.server_capabilities.tools.list_changed
            await settled(one)
            before = await one.tools()
            await other.tools()
            await one.call("notes/notes/learn", title="x")

            async def both() -> bool:
                return sorted(heard) == ["one", "other"]

            await until(both)
            assert len(await one.tools()) == len(before) + 1

    with serving("--config", str(config)) as url:
        anyio.run(main, url)


@pytest.mark.parametrize("given", [{}, {"x-notes-token": "Bearer of-ann-alone"}])
def test_a_call_goes_out_with_the_credentials_of_its_user_and_they_stay_nowhere(
    settings: Settings, config: Path, tmp_path: Path, given: dict[str, str]
) -> None:
    port = free_port()
    forward = 'forward = { "X-Notes-Token" = "Authorization" }\n'
    config.write_text(upstream("notes", f"http://127.0.0.1:{port}/mcp") + forward)

    async def main(url: str) -> None:
        async with at_url(url, headers=given) as door:

            async def there() -> bool:
                return await finds(door, "notes/notes/whoami")

            await until(there)
            if not given:
                said = await door.problem("call_tool", id="notes/notes/whoami", arguments={"title": "x"})
                assert "send your own credentials with it, in the header X-Notes-Token" in said
                return
            answer = await door.call("notes/notes/whoami", title="x")
            assert answer.content[0].text == "Bearer of-ann-alone"
        async with at_url(url) as another:
            assert "send your own" in await another.problem(
                "call_tool", id="notes/notes/whoami", arguments={"title": "x"}
            )

    with notes_at(port, "whoami"), serving("--config", str(config)) as url:
        anyio.run(main, url)
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and b"of-ann-alone" in file.read_bytes()]
    assert kept == []


def test_clients_over_http_subscribe_and_see_what_they_may_call(settings: Settings, config: Path) -> None:
    callers = "".join(
        f'[[callers]]\nname = "{name}"\nsha256 = "{digest(name)}"\nmay_call = {may_call}\n'
        for name, may_call in (("ann", "true"), ("guest", "false"))
    )
    config.write_text(upstream("notes", listed=["paint_*"]) + callers)

    async def main(url: str) -> None:
        async with at_url(url, "ann") as ann, at_url(url, "guest") as guest:
            await settled(ann)
            async with guest.client.listen(tools_list_changed=True) as subscription:
                await ann.call("notes/notes/learn", title="x")
                with anyio.fail_after(PATIENCE):
                    await anext(aiter(subscription))
            assert any(name.startswith("notes_paint_picture_") for name in await ann.tools())
            assert not any(name.startswith("notes_paint_picture_") for name in await guest.tools())

    with serving("--config", str(config)) as url:
        anyio.run(main, url)


def test_what_a_caller_may_not_see_or_call_is_not_listed(settings: Settings, config: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    config.write_text(
        upstream("notes", url, listed=["*"], deny=["learn"])
        + upstream("diary", url, listed=["read_*"], visible_to=["ann"])
        + upstream("closed", url, listed=["read_*"], allow=[])
    )

    async def anybody(door: Door) -> None:
        await settled(door)
        listed = " ".join(await door.tools())
        assert "read_note" in listed
        assert "learn" not in listed, "the operator denies it"
        assert "remove_note" not in listed, "destructive ones have to be asked for"
        assert len([name for name in await door.tools() if name.startswith("notes_read_note")]) == 1

    async def ann(door: Door) -> None:
        await settled(door)
        (one, other) = [name for name in await door.tools() if name.startswith("notes_read_note")]
        assert one != other, "two servers, one name: each tool has a name of its own"
        for name in (one, other):
            assert not (await door.client.call_tool(name, {"title": "x"})).is_error
        for tool_id in ("notes/notes/read_note", "diary/notes/read_note"):
            assert await finds(door, tool_id)
            assert f"calls {tool_id}" in door.log(), "each name leads to its own server"

    with notes_at(port):
        eventually(partial(listens, port))
        at_the_door(anybody, "--config", str(config))
        at_the_door(ann, "--config", str(config), "--principal", "ann")


def test_resources_and_prompts_are_found_beside_tools(settings: Settings, config: Path) -> None:
    command = shlex.join([sys.executable, str(UPSTREAM), "stdio", "0", "rules"])
    config.write_text(upstream("notes", f"stdio:{command}"))

    async def ask(door: Door) -> None:
        await settled(door)
        found = await door.search("house rules for writing notes", k=1)
        assert found["tools"][0]["id"] == "notes/notes/resource.rules"
        read = await door.call("notes/notes/resource.rules")
        assert read.content[0].resource.text == "notes://rules: be brief"
        found = await door.search("shorten a long text", k=1)
        assert (found["tools"][0]["name"], found["tools"][0]["needs"]) == ("prompt.shorten", ["text"])
        prompt = await door.call("notes/notes/prompt.shorten", text="on and on")
        assert prompt.content[0].text == "Shorten: on and on"

    at_the_door(ask, "--config", str(config))


def test_a_change_that_is_not_announced_is_found_out(settings: Settings, config: Path) -> None:
    config.write_text(upstream("notes", poll_seconds=1.0))

    async def ask(door: Door) -> None:
        await settled(door)
        await door.call("notes/notes/whisper", title="x")
        await until(partial(finds, door, "notes/notes/hum_tune"))

    at_the_door(ask, "--config", str(config))


def test_nobody_waits_long_for_a_server_that_hangs_and_those_who_may_see_it_hear_its_name(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kitpick.mcp import proxy as module
    from kitpick.mcp.config import Caller, McpConfig, UpstreamConfig

    monkeypatch.setattr(module, "_FIRST_LISTING_SECONDS", 3.0)
    command = shlex.join([sys.executable, "-c", "import sys; sys.stdin.read()"])
    public = UpstreamConfig("mute", f"stdio:{command}", timeout_seconds=300.0)
    secret = UpstreamConfig("diary", f"stdio:{command}", timeout_seconds=300.0, visible_to=("ann",))
    theirs = UpstreamConfig("acme", f"stdio:{command}", timeout_seconds=300.0, tenant="acme")

    async def main() -> None:
        proxy = module.Proxy(catalog, McpConfig(upstreams=(public, secret, theirs)))
        async with proxy.running():
            began = anyio.current_time()
            assert await proxy.settled(Caller("bob")) == ["mute"]
            assert anyio.current_time() - began >= 2.5
            with anyio.fail_after(2.5):
                assert await proxy.settled(Caller("ann", principals=("ann",))) == ["mute", "diary"]
                assert await proxy.settled(Caller("tom", tenant="acme")) == ["mute", "acme"]

    anyio.run(main)


def test_an_answer_names_what_was_missing_before_its_search(catalog: Catalog) -> None:
    from kitpick.mcp.config import Caller, McpConfig, UpstreamConfig
    from kitpick.mcp.proxy import Proxy
    from kitpick.mcp.tools import CatalogTools

    config = McpConfig(upstreams=(UpstreamConfig("late", "stdio:none"),))
    proxy = Proxy(catalog, config)
    search = catalog.search

    def slow_search(*arguments: Any, **options: Any) -> Any:
        found = search(*arguments, **options)
        proxy._listed["late"] = {}  # it comes while the search runs
        return found

    catalog.search = slow_search  # type: ignore[method-assign]
    tools = CatalogTools(catalog, proxy, None, calls=False)

    async def asked(name: str, **given: Any) -> str:
        return (await tools.answer(name, given, Caller("x"))).model_dump_json()

    async def main() -> None:
        assert "has not listed its tools yet" in await asked("describe_tool", id="late/x/y")
        assert "no tool has the id" in await asked("describe_tool", id="other/x/y")
        proxy._listed.clear()
        first, second = [await asked("search_tools", query="rain") for _ in range(2)]
        assert '"missing_servers":["late"]' in first
        assert "missing_servers" not in second

    anyio.run(main)


@contextmanager
def notes_at(port: int, *more: str) -> Iterator[None]:
    command = [sys.executable, str(UPSTREAM), "http", str(port), *more]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()


def test_a_servers_instructions_find_its_tools_and_cost_an_embedding_only_when_they_change(
    catalog: Catalog, config: Path
) -> None:
    port = free_port()
    config.write_text(upstream("notes", f"http://127.0.0.1:{port}/mcp", timeout_seconds=60.0))
    logbook = "The logbook of an airline: flights between airports, dates and passengers."

    async def found(door: Door) -> int:
        """How many of the first five are the server's."""
        tools = (await door.search("passengers of flights between two airports", k=5))["tools"]
        return sum(tool["id"].startswith("notes/") for tool in tools)

    async def ask(door: Door) -> None:
        with notes_at(port):
            await until(partial(answers, door))
            await door.line("upstream notes: +10 ~0 -0, 10 embedded")
            before = await found(door)
        with notes_at(port, logbook):
            await until(partial(answers, door))
            await door.line("upstream notes: +0 ~10 -0, 10 embedded")
            assert await found(door) > before
            assert (await door.describe("notes/notes/read_note"))["about"] == logbook
        with notes_at(port, logbook, "sing_song"):
            await until(partial(answers, door))
            await door.line("upstream notes: +1 ~0 -0, 1 embedded")

    at_the_door(ask, "--config", str(config))


def test_a_server_that_goes_and_comes_back_with_other_tools_is_followed(
    settings: Settings, config: Path
) -> None:
    port = free_port()
    config.write_text(upstream("notes", f"http://127.0.0.1:{port}/mcp", timeout_seconds=60.0))

    async def ask(door: Door) -> None:
        with notes_at(port):
            await until(partial(answers, door))
        assert await finds(door, "notes/notes/read_note"), "it is gone, and its tools are still known"
        assert "the server 'notes' failed" in await door.problem(
            "call_tool", id="notes/notes/read_note", arguments={"title": "x"}
        )
        with notes_at(port, "sing_song"):
            await until(partial(answers, door))
            await until(partial(finds, door, "notes/notes/sing_song"))

    at_the_door(ask, "--config", str(config))


def test_a_server_that_renames_everything_costs_as_much_as_it_has_tools(
    settings: Settings, config: Path
) -> None:
    config.write_text(upstream("notes", allow_shrink=True))

    async def ask(door: Door) -> None:
        await settled(door)
        for time in (1, 2):
            await door.call("notes/notes/rename")
            await until(partial(finds, door, f"notes/notes/read_note_{time}"))
        assert not await finds(door, "notes/notes/read_note_1")
        assert door.log().count("+9 ~0 -9, 9 embedded") == 2

    at_the_door(ask, "--config", str(config))


def test_a_server_that_renames_everything_is_doubted_unless_it_may(settings: Settings, config: Path) -> None:
    config.write_text(upstream("notes"))

    async def ask(door: Door) -> None:
        await settled(door)
        await door.call("notes/notes/rename")
        await door.line("its tools were not taken in: notes: 9 of 10 documents are gone")
        assert await finds(door, "notes/notes/read_note")

    at_the_door(ask, "--config", str(config))


def test_a_server_that_announces_without_end_is_listed_now_and_then(settings: Settings, config: Path) -> None:
    config.write_text(upstream("notes"))

    async def ask(door: Door) -> None:
        await settled(door)
        answer = await door.call("notes/notes/chatter")
        asked, seconds = answer.content[0].text.split()
        assert 1 <= int(asked) <= float(seconds) / 0.2 + 2, "of 200 announcements"

        async def last_one_known() -> bool:
            return (await door.describe("notes/notes/chatter"))["description"] == "Chatter 199"

        await until(last_one_known)

    at_the_door(ask, "--config", str(config))
