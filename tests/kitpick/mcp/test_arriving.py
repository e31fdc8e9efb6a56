"""Bodies of requests to `kitpick mcp --http`: lone surrogates are replaced, wherever the body is parted."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from kitpick_ingest.json_files import without_lone_surrogates

pytestmark = pytest.mark.needs("mcp")
BODIES = [
    rb'{"a": "\ud83d"}',
    rb'{"a": "\ud83d\ude00 \ude00 \ud83d"}',
    rb'{"a": "\\\\ud83d \\\ud83d \\"}',
    rb'{"a": "\u1234\ud83d\u1234\"\ud83d\ud83d\ude00"}',
    rb'{"a": "\\\\\\\\\\\\\ud83d \\\\\\\\\\\\ud83d"}',
]


def read(*parts: bytes) -> bytes:
    """What an application gets of a body in parts."""
    return b"".join(pieces(*parts))


def pieces(*parts: bytes) -> list[bytes]:
    """The same, message by message."""
    from kitpick.mcp.arriving import ArrivingRequests
    from kitpick_service.connections import ConnectionCount
    from kitpick_service.waits import Waits

    got: list[bytes] = []
    coming = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    coming.append({"type": "http.request", "body": b"", "more_body": False})

    async def app(_: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            message = await receive()
            got.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start"})

    async def ask() -> None:
        async def receive() -> Any:
            return coming.pop(0)

        async def send(_: Any) -> None:
            return

        await ArrivingRequests(app, Waits(), ConnectionCount(10))({"type": "http"}, receive, send)

    anyio.run(ask)
    return got


@pytest.mark.parametrize("body", BODIES)
def test_a_body_is_repaired_alike_in_one_part_and_in_two(body: bytes) -> None:
    whole = without_lone_surrogates(body)
    assert whole != body
    assert len(whole) == len(body), "its announced length stays right"
    assert read(body) == whole
    assert {read(body[:place], body[place:]) for place in range(len(body))} == {whole}
    assert read(*(body[place : place + 1] for place in range(len(body)))) == whole


def test_other_bodies_are_left_as_they_are() -> None:
    body = rb'{"a": "\ud83d\ude00 \\ud83d \n"}'
    assert read(body[:9], body[9:]) == body


@pytest.mark.parametrize("part", [b"\\" * 1000, b"\\" * 999, rb"\ud83d" * 100, b"\\" * 999 + b"ud83d"])
def test_a_body_goes_on_as_it_comes_whatever_it_consists_of(part: bytes) -> None:
    """The application counts the bytes of a body: nothing may collect in front of it."""
    came = pieces(*[part] * 50)
    behind = [len(part) * number - sum(map(len, came[:number])) for number in range(1, 51)]
    assert max(behind) < 20
    assert b"".join(came) == without_lone_surrogates(part * 50)
