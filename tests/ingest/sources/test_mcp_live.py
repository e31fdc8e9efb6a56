"""Live MCP servers: real processes, over stdio and over streamable HTTP on the loopback interface."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from waiting import free_port

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_live import McpLiveSource
from kitpick_ingest.sources.mcp_tools import about

pytestmark = pytest.mark.needs("mcp")

SERVER = Path(__file__).with_name("mcp_server.py")
HANDSHAKE = Path(__file__).with_name("handshake_server.py")
TOOLS = ["read_note", "write_note", "remove_note", "search", "share"]
QUICK = LiveSettings(request_seconds=60, total_seconds=120)


def stdio(behaviour: str = "fine", settings: LiveSettings = QUICK) -> McpLiveSource:
    return _started([str(SERVER), "stdio", behaviour], settings)


def legacy(behaviour: str = "fine", settings: LiveSettings = QUICK) -> McpLiveSource:
    """A server of the handshake era."""
    return _started([str(HANDSHAKE), behaviour], settings)


def _started(arguments: list[str], settings: LiveSettings) -> McpLiveSource:
    return McpLiveSource(f"stdio:{shlex.join([sys.executable, *arguments])}", "notes", settings)


@contextlib.contextmanager
def serving(behaviour: str) -> Iterator[str]:
    """A server process on a free port, as a URL."""
    port = free_port()
    with subprocess.Popen([sys.executable, str(SERVER), "http", behaviour, str(port)]) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until it listens, however long a busy machine takes."""
    while server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server ended with {server.returncode}")


@pytest.fixture(params=["stdio", "http"])
def fine(request: pytest.FixtureRequest) -> Iterator[McpLiveSource]:
    if request.param == "stdio":
        yield stdio()
        return
    with serving("fine") as url:
        yield McpLiveSource(url, "notes", QUICK)


def names(source: Source) -> list[str]:
    return [item.api for item in source.read() if isinstance(item, ApiDocument)]


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_every_page_is_read_with_all_fields_over_both_transports(fine: McpLiveSource) -> None:
    items = [item for item in fine.read() if isinstance(item, ApiDocument)]
    assert [item.api for item in items] == TOOLS
    assert {item.about for item in items} == {""}, "its server says nothing of itself"
    read_note = items[0]
    assert (read_note.id, read_note.tool, read_note.version) == ("notes/notes/read_note", "notes", "1.2")
    assert read_note.parameters == (
        Parameter("title", "string", required=True, description="of the note"),
        Parameter("deep", "boolean"),
    )
    effects = [item.effect for item in items]
    assert effects == [Effect.READ, Effect.WRITE, Effect.DESTRUCTIVE, Effect.UNKNOWN, Effect.UNKNOWN], "hints"
    definition = json.loads(read_note.definition)
    assert definition["inputSchema"]["x-vendor"] == {"z": 1, "a": 2}
    assert list(definition["inputSchema"]["x-vendor"]) == ["z", "a"]


Make = Callable[[str], McpLiveSource]


CHOIR = "Keeps the minutes of the village choir."


@pytest.mark.parametrize(
    ("make", "behaviour", "wanted"),
    [(stdio, "speaking", CHOIR), (legacy, "speaking", CHOIR), (legacy, "fine", "")],
)
def test_every_tool_carries_what_its_server_says_of_itself(make: Make, behaviour: str, wanted: str) -> None:
    items = list(make(behaviour).read())
    assert {item.about for item in items if isinstance(item, ApiDocument)} == {wanted}


def test_instructions_are_bounded_and_hold_nothing_that_an_index_refuses() -> None:
    assert about(" a\0b\ud800 ") == "a b?"
    assert len(about("x" * 1_000_000)) == 1_500


def test_a_server_that_dies_half_way_yields_nothing_but_the_error() -> None:
    items: list[object] = []
    with pytest.raises(SourceError, match="out of memory, says the server"):
        items.extend(legacy("dying").read())
    assert items == []


def test_a_server_that_dies_after_its_tools_keeps_them_and_is_named() -> None:
    tool, *letters = legacy("leaving").read()
    assert isinstance(tool, ApiDocument)
    assert tool.api == "old_tool"
    assert all(isinstance(letter, DeadLetter) for letter in letters)
    assert any("prompts/list" in letter.reason for letter in letters if isinstance(letter, DeadLetter))


def test_a_server_that_dies_half_way_over_http_yields_an_error() -> None:
    with serving("dying") as url, pytest.raises(SourceError):
        list(McpLiveSource(url, "notes", QUICK).read())


@pytest.mark.parametrize(
    ("behaviour", "settings", "reason"),
    [
        ("hanging", LiveSettings(request_seconds=1), "timed out"),
        ("hanging", LiveSettings(total_seconds=2), "within 2 s"),
        ("mute", LiveSettings(total_seconds=2), "within 2 s"),
        ("loop", QUICK, "same cursor again"),
        ("endless", LiveSettings(max_pages=5), "more than 5 pages"),
        ("notes", LiveSettings(max_tools=3), "more than 3 tools"),
    ],
)
def test_a_server_beyond_a_limit_stops_the_source(
    behaviour: str, settings: LiveSettings, reason: str
) -> None:
    before = children()
    with pytest.raises(SourceError, match=reason):
        list(legacy(behaviour, settings).read())
    assert children() == before, "the started server is gone"


def test_a_hanging_server_over_http_stops_the_source() -> None:
    settings = LiveSettings(request_seconds=1, total_seconds=20)
    with serving("hanging") as url, pytest.raises(SourceError, match=r"timed out|no answer"):
        list(McpLiveSource(url, "notes", settings).read())


def test_a_tool_without_a_name_costs_only_itself() -> None:
    (letter,) = legacy("malformed").read()
    assert isinstance(letter, DeadLetter)
    assert letter.position.endswith("/tools/0")
    assert "name" in letter.reason


def test_a_tool_that_says_one_thing_wrongly_is_read_and_costs_no_other() -> None:
    assert names(legacy("odd")) == ["old_tool", "of_php", "short", "draft_3", "drawn"]


def test_a_handshake_era_server_is_read_too() -> None:
    assert names(legacy()) == ["old_tool"]


def test_a_server_that_is_not_there_stops_the_source_and_no_secret_is_told() -> None:
    url = f"http://user:secret@127.0.0.1:{free_port()}/mcp?key=secret"
    for target, where in ((url, r"127\.0\.0\.1"), ("stdio:no-such-program --key secret", "no-such-program")):
        with pytest.raises(SourceError, match=where) as caught:
            list(McpLiveSource(target).read())
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("target", ["", "stdio:", "stdio:'open", "ftp://host/x", "http://[", "http://"])
def test_a_target_that_is_neither_url_nor_command_is_refused(target: str) -> None:
    with pytest.raises(UnknownSource):
        McpLiveSource(target)


def test_a_watch_reports_the_tools_at_once() -> None:
    seen: list[list[str]] = []
    stop = threading.Event()

    def on_change(snapshot: Source) -> None:
        assert snapshot.name == "notes"
        seen.append(names(snapshot))
        stop.set()

    stdio("fine").watch(on_change, stop)
    assert seen == [TOOLS]


@pytest.mark.parametrize(("make", "new"), [(stdio, "brand_new"), (legacy, "new_tool")])
def test_a_watch_ends_with_the_tools_after_the_last_change(make: Make, new: str) -> None:
    """Changes that come close together may be reported as one, so only the last report is certain."""
    seen: list[list[str]] = []
    stop = threading.Event()

    def on_change(snapshot: Source) -> None:
        seen.append(names(snapshot))
        if new in seen[-1]:
            stop.set()

    make("changing").watch(on_change, stop)
    assert new in seen[-1]
    assert not any(new in earlier for earlier in seen[:-1])


def test_a_server_that_knows_no_ping_is_still_watched() -> None:
    stop = threading.Event()
    restless = LiveSettings(heartbeat_seconds=0.05)
    source = legacy("changing", restless)
    source.watch(lambda _: threading.Timer(0.5, stop.set).start(), stop)
    assert stop.is_set(), "the watch ended by itself: a refused ping was taken for a failure"


def test_a_watch_over_http_hears_of_changes() -> None:
    seen: list[list[str]] = []
    stop = threading.Event()

    def on_change(snapshot: Source) -> None:
        seen.append(names(snapshot))
        if "brand_new" in seen[-1]:
            stop.set()

    with serving("changing") as url:
        McpLiveSource(url, "notes", QUICK).watch(on_change, stop)
    assert seen[-1] == [*TOOLS, "brand_new"]


@pytest.mark.parametrize(("make", "behaviour"), [(stdio, "silent"), (legacy, "fine")])
def test_a_server_that_announces_nothing_cannot_be_watched(make: Make, behaviour: str) -> None:
    with pytest.raises(SourceError, match="does not announce changes"):
        make(behaviour).watch(lambda _: None)


def test_what_the_callback_raises_passes_through_and_ends_the_watch() -> None:
    def broken(_: Source) -> None:
        raise ZeroDivisionError

    before = children()
    with pytest.raises(ZeroDivisionError):
        legacy("changing").watch(broken)
    assert children() == before


def test_a_server_that_dies_while_watched_ends_the_watch_at_once_with_an_error() -> None:
    def kill(_: Source) -> None:
        for pid in children() - before:
            psutil.Process(pid).kill()

    before = children()
    patient = replace(QUICK, heartbeat_seconds=3_600.0)
    with pytest.raises(SourceError, match=r"it ended (the session|with exit code)"):
        legacy("changing", patient).watch(kill, threading.Event())


def test_reading_works_inside_a_running_event_loop() -> None:
    import anyio

    async def main() -> list[str]:
        return names(legacy("notes"))

    assert anyio.run(main) == TOOLS


def test_a_program_that_is_not_there_is_named_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no 'no-such-program': install it"):
        list(McpLiveSource("stdio:no-such-program --x").read())
    plain = tmp_path / "no_program.txt"
    plain.write_text("hello")
    with pytest.raises(SourceError, match=r"no_program\.txt.*is it a program"):
        list(McpLiveSource(f"stdio:{plain}").read())


def test_an_address_where_nobody_answers_is_named_with_the_cure() -> None:
    with pytest.raises(SourceError, match="is the server running, are its host and port right"):
        list(McpLiveSource("http://127.0.0.1:9/mcp").read())
