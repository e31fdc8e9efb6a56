"""`kitpick mcp` as agents meet it: a real process, and the SDK's own client."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from doors import (
    COMMAND,
    NOTES,
    PATIENCE,
    TARGET,
    Door,
    at_the_door,
    over_http,
    serving,
    serving_process,
    until,
)
from waiting import eventually

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_ingest.approvals import Approvals
from kitpick_ingest.opening import open_source
from kitpick_service.keys import digest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")


@pytest.fixture
def notes_config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.toml"
    path.write_text(NOTES)
    return path


EMAIL = "functions/functions/send_email"


async def one_search(door: Door) -> None:
    """A catalog is searched, and its tools are described."""
    listed = ["search_tools", "next_tools", "get_definition", "describe_tool", "feedback"]
    assert await door.tools() == listed, "nothing behind it could be called"
    found = await door.search("will it rain in Paris tomorrow?", k=2)
    best = found["tools"][0]
    assert best["id"].endswith("get_weather")
    assert (best["name"], best["needs"], best["effect"]) == ("get_weather", ["city"], "unknown")
    assert best["line"] == "Current weather and forecast for a city"
    assert not best["callable"]
    whole = await door.search("will it rain in Paris tomorrow?", k=1, definitions=True)
    assert whole["tools"][0]["definition"]["inputSchema"]["required"] == ["city"]
    described = await door.describe(best["id"])
    assert json.loads(described["published"])["function"]["name"] == "get_weather"
    assert "no server is configured" in described["not_callable_because"]
    narrow = await door.search("email the weather", k=5, budget=120)
    assert 0 < len(narrow["tools"]) < 5
    for definitions in (False, True):
        nothing = await door.search("email the weather", budget=3, definitions=definitions)
        assert nothing["tools"] == []
        assert "larger" in nothing.get("problem", str(nothing.get("degraded")))
        assert "unmatched" not in nothing, "it is there"
    hedge = await door.search("paint the fence green")
    assert hedge["nothing_fits"]


async def several_capabilities(door: Door) -> None:
    """They are searched at once."""
    wanted = ["forecast the weather in a city", "send an email message", "paint the fence green"]
    result = await door.client.call_tool("search_tools", {"capabilities": wanted, "k": 2})
    found = Door.content(result)
    assert [tool["name"] for tool in found["tools"]][:2] == ["get_weather", "send_email"]
    assert [tool["for"] for tool in found["tools"]][:2] == [[1], [2]]
    assert found["unmatched"] == wanted[2:]
    five = await door.client.call_tool("search_tools", {"query": "an email about the weather", "k": 5})
    assert len(Door.content(five)["tools"]) == 5
    assert len(five.model_dump_json(exclude_none=True)) <= 4_000
    first = await door.search("an email about the weather", k=5, budget=150)
    rest = await door.search("an email about the weather", k=5, offset=first["next_offset"])
    pages = [tool["id"] for tool in (*first["tools"], *rest["tools"])]
    assert pages == [tool["id"] for tool in Door.content(five)["tools"]]
    ids = [tool["id"] for tool in found["tools"]][:2]
    whole = await door.client.call_tool("get_definition", {"ids": [*ids, "no/such/tool"]})
    assert [tool["id"] for tool in Door.content(whole)["tools"]] == ids
    assert Door.content(whole)["unknown"] == ["no/such/tool"]
    assert (await door.search("an email about the weather", k="auto"))["tools"]


async def mistakes(door: Door) -> None:
    """What a model gets wrong is answered with what would be right."""
    assert "`query`" in await door.problem("search_tools")
    assert "`query`" in await door.problem("search_tools", query="\u200b")
    assert "either" in await door.problem("search_tools", query="rain", capabilities=["forecast rain"])
    assert "search_tools gives" in await door.problem("get_definition", ids=["no/such/tool"])
    for tool, given in (("get_definition", {"ids": [EMAIL[:-1]]}), ("describe_tool", {"id": EMAIL.upper()})):
        assert f"did you mean '{EMAIL}'" in await door.problem(tool, **given)
    some = await door.client.call_tool("get_definition", {"ids": [EMAIL, EMAIL[:-1]]})
    assert f"did you mean '{EMAIL}'" in Door.content(some)["problem"]
    assert "say what became of which tool" in await door.problem("feedback", answer="write to Bob")
    assert "k" in await door.problem("search_tools", query="rain", k=0)
    assert "unknown field `limit`" in await door.problem("search_tools", query="rain", limit=3)
    assert "search_tools gives" in await door.problem("describe_tool", id="no/such/tool")
    assert "there are search_tools" in await door.problem("call_tool", id="x")


async def feedback(door: Door) -> None:
    """What became of tools is said by the answer."""
    found = await door.search("write to Bob", k=8)
    two = Door.content(
        await door.client.call_tool(
            "search_tools", {"capabilities": ["send an email", "forecast the weather"]}
        )
    )
    assert len(two["answer"].split("+")) == 2
    idle = {"not_needed": ["functions/functions/delete_file"]}
    for answer, more, stored in ((found["answer"], idle, 2), (two["answer"], {}, 1)):
        said = {"answer": answer, "chosen": [EMAIL], **more}
        told = Door.content(await door.client.call_tool("feedback", said))
        assert told["remembered"] >= stored
    unknown = await door.problem("feedback", answer="answer-" + "0" * 24, chosen=[EMAIL])
    assert "no answer has the id" in unknown
    for about in (found["answer"], "write to Bob"):
        wrong = await door.problem("feedback", answer=about, chosen=[EMAIL], failed=[EMAIL[:-1]])
        assert f"did you mean '{EMAIL}'" in wrong


def test_a_catalog_is_searched_described_and_judged(catalog: Catalog) -> None:
    async def ask(door: Door) -> None:
        for conversation in (one_search, several_capabilities, mistakes, feedback):
            await conversation(door)

    at_the_door(ask)
    tally = catalog.intents.behind("write to Bob", Filter())[EMAIL]
    assert list(tally.choices) == ["local"], "the caller of the door is the client"


class Music:
    """A source of four APIs: an artist's id, two that take it, and one more that only the boss may see."""

    name = "music"

    def read(self) -> Iterator[ApiDocument]:
        yield self.api("search", "Finds artists by words. Quick.", gives=("artist.id~9",))
        yield self.api("concerts", "Concerts of an artist", needs=("artist_id=artist.id~9",))
        yield self.api("albums", "Albums of an artist", needs=("artist=artist.id~8",))
        yield self.api("ban", "Bans an artist", needs=("artist_id=artist.id~9",), allowed=("boss",))

    @staticmethod
    def api(name: str, description: str, **more: Any) -> ApiDocument:
        return ApiDocument(f"music/music/{name}", "music", "", "music", name, description, **more)


def test_what_can_be_called_next_is_told_within_permissions_and_budget(settings: Settings) -> None:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(Music())

    async def next_tools(door: Door, **more: Any) -> dict[str, Any]:
        arguments = {"id": "music/music/search", **more}
        return door.content(await door.client.call_tool("next_tools", arguments))

    async def anybody(door: Door) -> None:
        found = await next_tools(door)
        assert [tool["name"] for tool in found["tools"]] == ["concerts", "albums"]
        assert found["tools"][0] == {
            "id": "music/music/concerts",
            "callable": False,
            "name": "concerts",
            "line": "Concerts of an artist",
            "effect": "unknown",
            "needs": [],
            "fills": "artist_id",
            "confidence": found["tools"][0]["confidence"],
        }
        assert found["tools"][0]["confidence"] > found["tools"][1]["confidence"]
        first = await next_tools(door, budget=70)
        assert [tool["name"] for tool in first["tools"]] == ["concerts"]
        rest = await next_tools(door, offset=first["next_offset"])
        assert [tool["name"] for tool in rest["tools"]] == ["albums"]
        assert "next_offset" not in rest
        assert [tool["name"] for tool in (await next_tools(door, k=1))["tools"]] == ["concerts"]
        assert "larger one" in (await next_tools(door, budget=3))["problem"]
        assert await next_tools(door, id="music/music/albums") == {"tools": []}
        for hidden in ("music/music/ban", "no/such/tool"):
            assert "no tool has the id" in await door.problem("next_tools", id=hidden)

    async def boss(door: Door) -> None:
        assert {tool["name"] for tool in (await next_tools(door))["tools"]} == {"concerts", "albums", "ban"}

    at_the_door(anybody)
    at_the_door(boss, "--principal", "boss")


async def calls(door: Door) -> None:
    """They reach the server behind the door within the rules."""
    assert "call_tool" in await door.tools()
    found = await door.search("read a note", k=3)
    assert {"id": "notes/notes/read_note", "callable": True}.items() <= found["tools"][0].items()
    answer = await door.call("notes/notes/read_note", title="shopping")
    assert answer.content[0].text == "read_note: shopping"
    complaint = await door.call("notes/notes/complain", title="x")
    assert complaint.is_error
    assert complaint.content[0].text == "the notebook is full", "its own error comes through"
    for refused, reason in (("remove_note", "effect is destructive"), ("secret", "operator denies")):
        tool_id = f"notes/notes/{refused}"
        assert reason in await door.problem("call_tool", id=tool_id)
        assert reason in (await door.describe(tool_id))["not_callable_because"]
    assert "above the limit" in await door.problem("call_tool", id="notes/notes/flood", arguments={})


async def new_tools(door: Door) -> None:
    """They are found as soon as the server announces them."""

    async def known() -> bool:
        found = await door.search("paint a picture in oil", k=8)
        return any(tool["id"].endswith("paint_picture") for tool in found["tools"])

    assert not await known()
    await door.call("notes/notes/learn", title="x")
    await until(known)
    assert not (await door.call("notes/notes/paint_picture", title="x")).is_error


async def dying(door: Door) -> None:
    """A server that dies in a call is reported, and started again."""
    assert "the server 'notes' failed" in await door.problem("call_tool", id="notes/notes/die")
    answer = await door.call("notes/notes/read_note", title="again")
    assert answer.content[0].text == "read_note: again"


@pytest.mark.usefixtures("no_cross_encoder")
def test_a_server_behind_the_door_is_called_watched_and_started_again(
    settings: Settings, notes_config: Path
) -> None:
    async def ask(door: Door) -> None:
        await door.settled()
        for conversation in (calls, new_tools, dying):
            await conversation(door)

    at_the_door(ask, "--config", str(notes_config))


@pytest.mark.usefixtures("no_cross_encoder")
def test_a_server_that_is_not_there_leaves_the_rest_working(catalog: Catalog, tmp_path: Path) -> None:
    config = tmp_path / "mcp.toml"
    config.write_text(
        '[[upstreams]]\nname = "gone"\ntarget = "stdio:no-such-program"\ntimeout_seconds = 5.0\n'
    )

    async def ask(door: Door) -> None:
        assert (await door.search("weather"))["tools"][0]["id"].endswith("get_weather")

    at_the_door(ask, "--config", str(config))


@pytest.mark.usefixtures("no_cross_encoder")
def test_over_http_a_token_decides_what_is_seen_and_what_may_be_called(
    settings: Settings, functions_file: Path, notes_config: Path
) -> None:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(open_source(f"functions:{functions_file}", allowed=("staff",)))
    callers = [("alice", '["staff"]', "true"), ("guest", "[]", "false")]
    notes_config.write_text(
        NOTES
        + "".join(
            f'[[callers]]\nname = "{name}"\nsha256 = "{digest(name)}"\nprincipals = {principals}\n'
            f"may_call = {may_call}\n"
            for name, principals, may_call in callers
        )
    )

    async def alice(door: Door) -> None:
        await door.settled()
        assert (await door.search("weather in Rome"))["tools"][0]["id"].endswith("get_weather")
        answer = await door.call("notes/notes/read_note", title="hers")
        assert answer.content[0].text == "read_note: hers"

    hers = "functions/functions/get_weather"

    async def guest(door: Door) -> None:
        seen = {tool["id"] for tool in (await door.search("weather in Rome", k=20))["tools"]}
        assert seen
        assert not any("get_weather" in tool_id for tool_id in seen)
        assert "search_tools gives" in await door.problem("describe_tool", id=hers)
        assert "may search and not call" in await door.problem("call_tool", id="notes/notes/read_note")

    async def nobody(door: Door) -> None:
        await door.tools()

    with serving("--config", str(notes_config)) as url:
        over_http(url, alice, "alice")
        over_http(url, guest, "guest")
        for token in ("", "mallory"):
            with pytest.raises(Exception, match=r"."):
                over_http(url, nobody, token)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[upstreams]]\nname = 'x'\n", "target"),
        ("[[upstreams]]\nname = 'x'\ntarget = 'ftp://x'\n", "neither a URL nor a command"),
        ("hold_back = true\n", "needs `lock`"),
        (2 * "[[upstreams]]\nname = 'x'\ntarget = 'https://x/mcp'\n", "two upstreams 'x'"),
        (
            "[[upstreams]]\nname='x'\ntarget='https://x/mcp'\nheaders={A='UNSET_ONE'}\n",
            "'UNSET_ONE' is not set",
        ),
        ("[[callers]]\nname = 'x'\n", "no sha256"),
        ("[[callers]]\nname = 'x'\nsha256 = 'short'\n", "sha256"),
        (
            "[[upstreams]]\nname='x'\ntarget='stdio:x'\nforward={X-Token='Authorization'}\n",
            "only a URL can be given headers",
        ),
        (
            "[[upstreams]]\nname='x'\ntarget='https://x/mcp'\nforward={Authorization='X'}\n",
            "a caller's token for this server is not forwarded",
        ),
        ("other = 1", "unknown field `other`"),
        ("no toml", "mcp.toml"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    from kitpick.mcp.config import read_config
    from kitpick.mcp.errors import InvalidMcpConfig

    path = tmp_path / "mcp.toml"
    path.write_text(text)
    with pytest.raises(InvalidMcpConfig, match=reason):
        read_config(path)


def test_a_door_that_others_could_reach_needs_callers(settings: Settings) -> None:
    refused = subprocess.run(
        [*COMMAND, "--http", "--host", "0.0.0.0"], capture_output=True, text=True, timeout=600, check=False
    )
    assert refused.returncode == ExitCode.INPUT
    assert "no [[callers]] are configured" in refused.stderr


def test_a_door_with_too_many_connections_sends_callers_away(settings: Settings, tmp_path: Path) -> None:
    config = tmp_path / "mcp.toml"
    config.write_text("max_connections = 3\n")
    with serving("--config", str(config)) as url:
        place = urlsplit(url)
        assert not plain_answer(place.netloc).startswith(b"HTTP/1.1 503")
        idle = [socket.create_connection((place.hostname, place.port), timeout=PATIENCE) for _ in range(3)]
        answer = plain_answer(place.netloc)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"connection: close" in answer.lower()
        assert b"3 connections are open already" in answer
        for connection in idle:
            connection.close()
        eventually(lambda: not plain_answer(place.netloc).startswith(b"HTTP/1.1 503"))


def plain_answer(netloc: str) -> bytes:
    """The whole answer to a request that no client of the protocol would send, on a connection of its own."""
    host, _, port = netloc.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as caller:
        caller.sendall(f"GET /mcp HTTP/1.1\r\nhost: {netloc}\r\nconnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: caller.recv(4096), b""))


def test_a_door_ends_though_a_request_never_comes_whole(settings: Settings) -> None:
    half = b"POST /mcp HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n"
    half += b"accept: application/json, text/event-stream\r\ncontent-length: 9\r\n\r\n"
    with serving_process() as (url, process):
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as caller:
            caller.sendall(half % place.netloc.encode())
            assert caller.recv(100).startswith(b"HTTP/1.1 100"), "it waits for the body"
            process.send_signal(signal.SIGTERM)
            assert caller.recv(100).startswith(b"HTTP/1.1 503"), "it waits no longer for it"
            assert process.wait(PATIENCE) == -signal.SIGTERM


def test_the_configuration_in_the_documentation_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kitpick.mcp.config import read_config

    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text("utf-8")
    path = tmp_path / "mcp.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])
    monkeypatch.setenv("NOTES_TOKEN", "x")
    found = read_config(path)
    assert (found.upstreams[0].allow, found.callers[0].may_call) == (("read_*", "search"), True)


@pytest.mark.usefixtures("no_cross_encoder")
def test_a_lock_file_guards_the_tools_of_upstreams(settings: Settings, notes_config: Path) -> None:
    lock = notes_config.with_name("tools.lock")
    with Catalog.open(settings=settings) as opened:
        opened.ingest(open_source(f"mcp:{TARGET}", name="notes"))
        index, _ = opened.live()
        lock.write_bytes(Approvals.of(item.document for item in opened.engine.documents(index)).encode())
    notes_config.write_text(f"lock = {json.dumps(str(lock))}\nhold_back = true\n{NOTES}")

    async def ask(door: Door) -> None:
        await door.settled()
        assert not (await door.call("notes/notes/read_note", title="x")).is_error, "it is approved"
        await door.call("notes/notes/learn", title="x")
        await door.line("not as approved (new), held back: 'notes/notes/paint_picture'")
        assert "search_tools gives" in await door.problem("describe_tool", id="notes/notes/paint_picture")

    at_the_door(ask, "--config", str(notes_config))
