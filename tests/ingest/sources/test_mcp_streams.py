"""Streams of MCP servers, piece by piece and line by line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest

from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_http import AnswerRefused, _Unpacked
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_process import _Exchange
from kitpick_ingest.sources.mcp_spread import SpreadMessage

LIMIT = 50


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def _length(pieces: list[bytes], method: str = "") -> int:
    answer = httpx2.Response(200, stream=Pieces(pieces))
    return sum([len(piece) async for piece in _Unpacked(answer, method, LIMIT)])


@pytest.mark.parametrize("cut", range(1, 4))
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_a_stream_of_events_has_no_length_wherever_the_ends_are_cut(end: bytes, cut: int) -> None:
    pieces = [b"data: x" + end[:cut], end[cut:]] * 100
    assert anyio.run(_length, pieces) == sum(map(len, pieces))


@pytest.mark.parametrize("pieces", [[b"data: x\n"] * 7, [b"x" * 51], [b"a\n", b"\n", b"x" * 26, b"x" * 26]])
def test_one_event_has(pieces: list[bytes]) -> None:
    with pytest.raises(AnswerRefused):
        anyio.run(_length, pieces)


def test_a_message_over_many_lines_is_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = 0
    for name in ("beginning", "drop", "skip"):
        plain = getattr(SpreadMessage, name)

        def counted(self: SpreadMessage, *given: int, plain: object = plain) -> bytes:
            nonlocal copied
            found: bytes = plain(self, *given)  # type: ignore[operator]
            copied += len(found)
            return found

        monkeypatch.setattr(SpreadMessage, name, counted)
    result = {"tools": [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(500)]}
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, indent=1).encode()
    exchange = _Exchange(None, LiveSettings(), ServerOutput())  # type: ignore[arg-type]
    lines = text.split(b"\n")
    found = [message for line in lines for message in exchange._messages(line)]
    assert len(found) == 1
    assert copied <= len(text) + 400 * len(lines)
