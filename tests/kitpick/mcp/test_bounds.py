"""What an MCP server may send: counted before it is parsed, for one answer and for a list as a whole."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from plain_server import INITIALIZED, TOOL, UNKNOWN, USUAL, PlainServer
from test_upstream_states import called, machine, recovered

from kitpick.mcp.upstream import Upstream
from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_live import McpLiveSource

pytestmark = pytest.mark.needs("mcp")

MIB = 1024 * 1024


def large(message: dict[str, Any], size: int = 64 * MIB) -> bytes:
    """An answer to a call of many bytes, which are packed into few."""
    content = [{"type": "text", "text": "a" * size}]
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}).encode()


def events(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: " + large(message) + b"\n\n"


def packed(answer: dict[str, Any], message: dict[str, Any]) -> bytes:
    return gzip.compress(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **answer}).encode())


def deflated(answer: bytes) -> bytes:
    return zlib.compress(answer, 1)


@pytest.mark.parametrize(
    ("encoding", "pack", "answer", "kind"),
    [
        ("gzip", gzip.compress, large, "application/json"),
        ("deflate", deflated, large, "application/json"),
        ("gzip", gzip.compress, events, "text/event-stream"),
        ("identity", bytes, large, "application/json"),
    ],
)
def test_an_answer_that_unpacks_into_too_much_costs_its_call_and_little_memory(
    encoding: str, pack: Callable[[bytes], bytes], answer: Callable[[dict[str, Any]], bytes], kind: str
) -> None:
    with PlainServer().running() as server:

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            packed = pack(answer({"id": 0}))

            def send(_: dict[str, Any]) -> bytes:
                server.headers |= {"content-encoding": encoding, "content-type": kind}
                return packed

            server.answers["tools/call"] = send
            tracemalloc.start()
            said = await called(upstream)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert "above the limit of 4,194,304 bytes (max_result_bytes)" in said
            assert peak < 32 * MIB
            server.headers.clear()
            server.answers |= USUAL
            assert await called(upstream) == "fine"

        machine(server, ask)


def test_an_encoding_that_nobody_asked_for_is_named() -> None:
    with PlainServer().running() as server:

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            server.headers["content-encoding"] = "br"
            assert "nobody asked for the encoding 'br'" in await called(upstream)

        machine(server, ask)


def test_a_packed_answer_within_the_limit_is_read() -> None:
    with PlainServer().running() as server:

        async def ask(upstream: Upstream) -> None:
            await recovered(upstream)
            server.headers["content-encoding"] = "gzip"
            for method, usual in USUAL.items():
                server.answers[method] = partial(packed, usual)
            assert await called(upstream) == "fine"

        machine(server, ask)


def read(server: PlainServer, **limits: Any) -> Iterator[ApiDocument | DeadLetter]:
    return McpLiveSource(server.url, "notes", LiveSettings(request_seconds=30, **limits)).read()


def pages(entry: Callable[[int], dict[str, Any]], last: int = 10**9) -> Callable[[dict[str, Any]], Any]:
    """Pages of one entry each, without an end."""

    def page(message: dict[str, Any]) -> Any:
        number = int((message.get("params") or {}).get("cursor") or 0)
        cursor = {"nextCursor": str(number + 1)} if number < last else {}
        return {"result": {"tools": [entry(number)], **cursor}}

    return page


def heavy(number: int) -> dict[str, Any]:
    return TOOL | {"name": f"t{number}", "description": "x" * 500_000}


def test_pages_without_end_are_bounded_in_bytes() -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = pages(heavy)
        with pytest.raises(SourceError, match=r"tools/list failed: more than 4,194,304 bytes"):
            list(read(server, max_listing_bytes=4 * MIB))
        assert server.times("tools/list") <= 10


@pytest.mark.parametrize("method", ["tools/list", "prompts/list"])
def test_cursors_count_among_the_bytes_of_a_list(method: str) -> None:
    def empty_pages(message: dict[str, Any]) -> Any:
        number = len((message.get("params") or {}).get("cursor") or "")
        return {"result": {method.partition("/")[0]: [], "nextCursor": "x" * (number + 500_000)}}

    with PlainServer(prompts={}).running() as server:
        server.answers |= {"prompts/list": {"result": {"prompts": []}}, method: empty_pages}
        source = McpLiveSource(
            server.url, "notes", LiveSettings(request_seconds=600, max_listing_bytes=4 * MIB)
        )
        said = ""
        try:
            said = " ".join(item.reason for item in source.read() if isinstance(item, DeadLetter))
        except SourceError as error:
            said = str(error)
        assert f"{method} failed: more than 4,194,304 bytes" in said
        assert server.times(method) == 4, "0.5, 1.5, 3 and 5 million characters"


def test_one_page_is_bounded_in_bytes() -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = pages(heavy, last=0)
        with pytest.raises(SourceError, match=r"above the limit of 100,000 bytes \(max_answer_bytes\)"):
            list(read(server, max_answer_bytes=100_000))
        assert len(list(read(server))) == 1


ODD = {
    "hints": {"annotations": {"readOnlyHint": "perhaps", "destructiveHint": True}},
    "annotations": {"annotations": ["none"]},
    "title": {"title": 3, "annotations": None},
    "meta": {"_meta": "x", "icons": 4, "execution": []},
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_fields_beside_the_schema_cost_themselves(odd: str) -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = {
            "result": {"tools": [TOOL | ODD[odd], TOOL | {"name": "b"}], "ttlMs": "x"}
        }
        assert [getattr(item, "api", item) for item in read(server)] == ["read_note", "b"]


@pytest.mark.parametrize(
    "entry", [{"title": "nameless"}, 3, None, {"name": "x"}, {"name": 1, "inputSchema": {}}]
)
def test_an_entry_that_is_no_tool_costs_itself(entry: object) -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = {"result": {"tools": [TOOL, entry]}}
        tool, letter = read(server)
        assert isinstance(tool, ApiDocument)
        assert isinstance(letter, DeadLetter)


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.parametrize(
    "fault",
    [
        {"error": {"code": -32603, "message": "not today"}},
        {"result": {}},
        {"result": {"prompts": None}},
        500,
        "close",
    ],
)
def test_a_part_that_fails_costs_only_itself_and_is_named(method: str, fault: Any) -> None:
    with PlainServer(resources={}, prompts={}).running() as server:
        server.answers |= {
            "resources/list": {"result": {"resources": [{"uri": "a:b", "name": "rules"}]}},
            "resources/templates/list": {"result": {"resourceTemplates": []}},
            "prompts/list": {"result": {"prompts": [{"name": "shorten"}]}},
            method: fault,
        }
        items = list(read(server))
        apis = [item.api for item in items if isinstance(item, ApiDocument)]
        (letter,) = [item for item in items if isinstance(item, DeadLetter)]
        assert apis[0] == "read_note"
        assert len(apis) == (3 if "templates" in method else 2)
        assert method in letter.reason


INTRODUCTIONS: dict[str, Any] = {
    "no server": {"serverInfo": None},
    "a server without a version": {"serverInfo": {"name": "notes"}},
    "no capabilities": {"capabilities": None},
    "capabilities that are none": {"capabilities": {"tools": True, "resources": [], "prompts": "x"}},
    "instructions in a list": {"instructions": ["Read"]},
    "meta": {"_meta": []},
}


@pytest.mark.parametrize("odd", INTRODUCTIONS)
def test_what_a_server_says_wrongly_of_itself_costs_no_tool(odd: str) -> None:
    with PlainServer().running() as server:
        server.answers["initialize"] = {"result": INITIALIZED | INTRODUCTIONS[odd]}
        assert [getattr(item, "api", item) for item in read(server)] == ["read_note"]


def test_text_without_a_form_in_utf_8_costs_its_tool() -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = {"result": {"tools": [TOOL | {"description": "a\ud800"}, TOOL]}}
        letter, tool = read(server)
        assert isinstance(letter, DeadLetter)
        assert "lone surrogate" in letter.reason
        assert isinstance(tool, ApiDocument)


def test_a_list_that_stands_twice_is_named() -> None:
    with PlainServer().running() as server:

        def twice(message: dict[str, Any]) -> bytes:
            rest = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [TOOL]}})
            return rest.replace('"tools"', '"tools": [{"name": "lost", "inputSchema": {}}], "tools"').encode()

        server.answers["tools/list"] = twice
        tool, letter = read(server)
        assert isinstance(tool, ApiDocument)
        assert isinstance(letter, DeadLetter)
        assert letter.position == f"{server.url}#/tools~1list"
        assert letter.reason == "the key 'tools' stands more than once: only its last value is read"


def test_a_long_error_is_told_by_its_beginning_on_one_line() -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = {"error": {"code": -32000, "message": "\x1b[2J\nno" + "x" * 300_000}}
        with pytest.raises(SourceError) as caught:
            list(read(server))
        assert "tools/list failed: \\x1b[2J\\nnoxxx" in str(caught.value)
        assert len(str(caught.value)) < 1_000


def test_a_part_that_the_server_does_not_know_after_all_is_none() -> None:
    with PlainServer(resources={}).running() as server:
        server.answers["resources/list"] = UNKNOWN
        assert [getattr(item, "api", item) for item in read(server)] == ["read_note"]


def test_a_failure_names_server_method_and_cause() -> None:
    with PlainServer().running() as server:
        server.answers["tools/list"] = {"error": {"code": -32603, "message": "backend not reachable"}}
        with pytest.raises(SourceError) as caught:
            list(read(server))
        assert str(caught.value) == f"{server.url}: tools/list failed: backend not reachable (error -32603)"
        server.answers = {"initialize": {"result": INITIALIZED | {"protocolVersion": 3}}}
        with pytest.raises(SourceError, match="no valid result: protocolVersion"):
            list(read(server))
