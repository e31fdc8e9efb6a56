"""Bodies are read so that one of them, whatever it holds, takes neither the event loop nor the memory."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.requests import Request

from kitpick_service.body import read_body
from kitpick_service.errors import Malformed, Overloaded
from kitpick_service.gate import Gate, HeldBytes
from kitpick_service.settings import ServiceSettings

pytestmark = pytest.mark.needs("serve")
SETTINGS = ServiceSettings()
LARGE = b"a text of many words " * 400_000
"""Eight megabytes, of which gzip makes less than a hundredth."""


def request(*packets: bytes) -> Request:
    """A request whose compressed body comes in these packets."""
    left = list(packets)

    async def receive() -> dict[str, Any]:
        packet = left.pop(0)
        return {"type": "http.request", "body": packet, "more_body": bool(left)}

    headers = [(b"content-encoding", b"gzip")]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return anyio.run(work)


class Noted(HeldBytes):
    """Notes how often others had their turn when the body grows."""

    def __init__(self, turns: list[int]) -> None:
        super().__init__(Gate(1, 2**30))
        self._turns = turns
        self.seen: list[int] = []

    def grow(self, count: int) -> None:
        self.seen.append(len(self._turns))
        super().grow(count)


def test_others_have_their_turn_while_a_packet_becomes_a_hundred_times_as_large() -> None:
    """A task that always wants the event loop gets it before every piece, however fast these are."""
    packed = gzip.compress(LARGE)
    assert 100 * len(packed) < len(LARGE)
    turns: list[int] = []
    held = Noted(turns)

    async def others() -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            turns.append(1)

    async def both() -> bytes:
        async with anyio.create_task_group() as group:
            group.start_soon(others)
            found = await read_body(request(packed), SETTINGS, held)
            group.cancel_scope.cancel()
        return found

    assert run(both) == LARGE
    assert len(held.seen) > len(LARGE) // 2**18
    assert len(set(held.seen)) == len(held.seen)


def test_room_is_asked_for_piece_by_piece() -> None:
    """A bomb gets no further than the room that is there, and leaves nothing taken."""
    gate = Gate(1, 2**20)

    async def reading() -> int:
        with gate.hold() as held:
            with pytest.raises(Overloaded):
                await read_body(request(gzip.compress(LARGE)), SETTINGS, held)
            return held.count

    assert 2**19 < run(reading) <= 2**20
    assert gate.bytes == 0


@pytest.mark.parametrize("size", [0, 1, 2**18 - 1, 2**18, 2**18 + 1, 2**19, 3 * 2**18 + 5])
@pytest.mark.parametrize("packet", [1_000_000, 7])
def test_every_byte_arrives_at_the_edges_of_pieces_and_packets(size: int, packet: int) -> None:
    content = (b"0123456789" * (size // 10 + 1))[:size]
    packed = gzip.compress(content)
    packets = [packed[start : start + packet] for start in range(0, len(packed), packet)]

    async def reading(*given: bytes) -> bytes:
        with Gate(1, 2**30).hold() as held:
            return await read_body(request(*given), SETTINGS, held)

    assert run(lambda: reading(*packets)) == content
    if size:
        with pytest.raises(Malformed, match="too early"):
            run(lambda: reading(packed[:-1]))
