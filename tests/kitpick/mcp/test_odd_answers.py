"""Answers over HTTP, as JSON and as events: one odd value costs its entry, and no text is read as another."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from plain_server import TOOL, PlainServer
from test_upstream_states import called, machine, recovered

from kitpick.mcp.upstream import Upstream
from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_live import McpLiveSource

pytestmark = pytest.mark.needs("mcp")
Message = dict[str, Any]
EVENTS = {"content-type": "text/event-stream"}
OTHER = TOOL | {"name": "other"}


def answer(message: Message, result: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})


def tools(message: Message, odd: object = "", **more: object) -> str:
    """A list with a tool whose default is odd, and one as it should be."""
    schema = {"type": "object", "default": odd}
    return answer(message, {"tools": [TOOL | {"inputSchema": schema}, OTHER], **more})


def deep(message: Message) -> str:
    return tools(message, "DEEP").replace('"DEEP"', "[" * 300 + "]" * 300)


FORMS: dict[str, Callable[[Message], bytes]] = {
    "a byte order mark": lambda message: b"\xef\xbb\xbf" + tools(message).encode(),
    "a list of messages": lambda message: f"[{tools(message)}]".encode(),
    "a lone surrogate": lambda message: tools(message, "a\ud800").encode(),
    "a byte that is no UTF-8": lambda message: tools(message, "BYTE").encode().replace(b"BYTE", b"\xe9"),
    "no number": lambda message: tools(message, float("nan")).encode(),
    "a number of 5,000 digits": lambda message: (
        tools(message, "DIGITS").encode().replace(b'"DIGITS"', b"9" * 5_000)
    ),
    "300 lists in one another": lambda message: deep(message).encode(),
}


def served(server: PlainServer, write: Callable[[Message], bytes], headers: dict[str, str]) -> None:
    """From now on lists of tools are written so, with these headers; other answers as usual."""

    def list_tools(message: Message) -> bytes:
        server.headers |= headers
        return write(message)

    def others(usual: Any) -> Callable[[Message], Any]:
        def write_usual(_: Message) -> Any:
            server.headers.clear()
            return usual

        return write_usual

    server.answers = {method: others(usual) for method, usual in server.answers.items()}
    server.answers["tools/list"] = list_tools


def event(text: bytes, end: bytes = b"\n") -> bytes:
    return b"event: message" + end + b"data: " + text + end + end


def read(server: PlainServer, seconds: float = 60) -> list[Any]:
    return list(McpLiveSource(server.url, "notes", LiveSettings(request_seconds=seconds)).read())


@pytest.mark.parametrize("events", [False, True], ids=["JSON", "events"])
@pytest.mark.parametrize("form", FORMS)
def test_an_odd_value_costs_its_tool_at_most(form: str, events: bool) -> None:
    def write(message: Message) -> bytes:
        return event(FORMS[form](message)) if events else FORMS[form](message)

    with PlainServer().running() as server:
        served(server, write, EVENTS if events else {})
        items = read(server)
    assert len(items) == 2
    assert isinstance(items[-1], ApiDocument)
    assert "other" in {item.api for item in items if isinstance(item, ApiDocument)}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_may_be_written_in_every_way(end: bytes) -> None:
    def write(message: Message) -> bytes:
        lines = json.dumps(json.loads(tools(message, "a\ud800")), indent=1).encode().splitlines()
        return b": a comment" + end + end + event((end + b"data:").join(lines), end)

    with PlainServer().running() as server:
        served(server, write, EVENTS)
        _, other = read(server)
    assert isinstance(other, ApiDocument)


def test_an_event_may_hold_a_list_of_messages() -> None:
    def write(message: Message) -> bytes:
        said = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        return event(f"[{json.dumps(said)}, {tools(message)}]".encode())

    with PlainServer().running() as server:
        served(server, write, EVENTS)
        assert [item.api for item in read(server)] == ["read_note", "other"]


@pytest.mark.parametrize("events", [False, True], ids=["JSON", "events"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"id": 3, "result": {}}', "jsonrpc: Field required"),
        (b'{"jsonrpc": "2.0", "id": 3, "error": "boom"}', "error: Input should be an object"),
        (b"<html>", "Invalid JSON: expected value at line 1 column 1"),
        (b'{"jsonrpc": "2.0", "id": 3, "result": ' + b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_no_message_is_told_in_one_line(text: bytes, said: str, events: bool) -> None:
    with PlainServer().running() as server:
        served(server, lambda _: event(text) if events else text, EVENTS if events else {})
        with pytest.raises(SourceError) as caught:
            read(server)
    reason = "tools/list failed: its answer to tools/list is no message that can be read"
    assert f"{reason}: {said}" in str(caught.value)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize("cursor", [7, 1.5])
def test_a_number_may_stand_for_the_next_page(cursor: float) -> None:
    def write(message: Message) -> bytes:
        asked = (message.get("params") or {}).get("cursor")
        page: Message = (
            {"tools": [OTHER]} if asked == str(cursor) else {"tools": [TOOL], "nextCursor": cursor}
        )
        return answer(message, page).encode()

    with PlainServer().running() as server:
        served(server, write, {})
        assert [item.api for item in read(server)] == ["read_note", "other"]


@pytest.mark.parametrize("cursor", [0, False, None, ""])
def test_a_cursor_that_says_nothing_is_the_end(cursor: object) -> None:
    with PlainServer().running() as server:
        served(server, lambda message: tools(message, nextCursor=cursor).encode(), {})
        assert len(read(server)) == 2
        assert server.times("tools/list") == 1


def test_a_cursor_that_is_none_is_refused_by_name() -> None:
    with PlainServer().running() as server:
        served(server, lambda message: tools(message, nextCursor=[1]).encode(), {})
        with pytest.raises(SourceError, match="no valid tools/list result: nextCursor"):
            read(server)


@pytest.mark.parametrize("headers", [{}, EVENTS], ids=["JSON", "events"])
def test_a_result_with_an_odd_value_reaches_its_caller(headers: dict[str, str]) -> None:
    def write(message: Message) -> bytes:
        server.headers |= headers
        text = b"\xef\xbb\xbf" + answer(message, {"content": [{"type": "text", "text": "a\ud800"}]}).encode()
        return event(text) if headers else text

    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        server.answers["tools/call"] = write
        assert await called(upstream) == "a\0"

    with PlainServer().running() as server:
        machine(server, ask)


TEXT = {"type": "text", "text": "hi"}
ODD_RESULTS: dict[str, tuple[Message, list[str]]] = {
    "content of a kind that nobody knows": (
        {"content": [{"type": "widget", "size": 1}, TEXT]},
        ['{"type": "widget", "size": 1}', "hi"],
    ),
    "a text that is a number": ({"content": [{"type": "text", "text": 5}]}, ['{"type": "text", "text": 5}']),
    "a part without a kind": ({"content": [{"text": "hi"}]}, ["hi"]),
    "odd annotations": ({"content": [TEXT | {"annotations": {"audience": ["all"]}, "_meta": 3}]}, ["hi"]),
    "a text in place of a list": ({"content": "hi"}, ["hi"]),
    "no content": ({"content": None, "structuredContent": {"a": 1}}, []),
    "structured content alone": ({"structuredContent": {"a": 1}}, []),
    "a structured list alone": ({"structuredContent": [1, "é"]}, ['[1, "é"]']),
    "a structured list beside content": ({"content": [TEXT], "structuredContent": [1]}, ["hi"]),
}


def test_an_odd_part_of_a_result_is_shown_as_text() -> None:
    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        for odd, (result, shown) in ODD_RESULTS.items():
            server.answers["tools/call"] = {"result": result}
            said = await upstream.call("read_note", {})
            assert [part.text for part in said.content] == shown, odd  # type: ignore[union-attr]
            structured = result.get("structuredContent")
            assert said.structured_content == (structured if isinstance(structured, dict) else None)

    with PlainServer().running() as server:
        machine(server, ask)


def test_a_result_that_is_nested_too_deeply_costs_its_call() -> None:
    async def ask(upstream: Upstream) -> None:
        await recovered(upstream)
        server.answers["tools/call"] = lambda message: (
            answer(message, {"content": [], "structuredContent": {"a": "DEEP"}})
            .replace('"DEEP"', "[" * 300 + "]" * 300)
            .encode()
        )
        assert "serialization depth" in await called(upstream)
        server.answers["tools/call"] = {"result": {"content": [TEXT]}}
        assert await called(upstream) == "hi"

    with PlainServer().running() as server:
        machine(server, ask)
