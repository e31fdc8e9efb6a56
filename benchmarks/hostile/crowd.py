"""Hostile clients in a process of their own: each sends the whole list, again and again, in another order.

`python -m hostile.crowd URL CLIENTS`. A line `go` on standard input starts them, `stop` has them leave in the
middle of whatever they do; then one line of JSON says what they got, by status (0: no answer).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from urllib.parse import urlsplit

import anyio

from hostile.cases import raw_cases, request_cases

_PATIENCE = 60.0
"""Seconds for one answer."""


def packets(host: str) -> list[bytes]:
    """Every request of the list as the bytes that are sent."""
    found = [case.sent for case in raw_cases()]
    for case in request_cases():
        fields = {"host": host, "connection": "close", "content-length": str(len(case.body)), **case.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        found.append(f"POST {case.path} HTTP/1.1\r\n{lines}\r\n".encode() + case.body)
    return found


async def client(place: tuple[str, int], sent: list[bytes], seed: int, got: Counter[int]) -> None:
    """One client; it never ends by itself."""
    order = random.Random(seed)
    while True:
        for packet in order.sample(sent, len(sent)):
            got[await status_of(place, packet)] += 1


async def status_of(place: tuple[str, int], packet: bytes) -> int:
    """Status of the answer, 0 for none."""
    try:
        with anyio.fail_after(_PATIENCE):
            reader, writer = await asyncio.open_connection(*place)
            try:
                writer.write(packet)
                first = (await reader.readline()).split()
                await reader.read()
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, ValueError):
        return 0
    return int(first[1]) if len(first) > 1 and first[1].isdigit() else 0


async def main() -> None:
    """Until standard input ends."""
    url, clients = sys.argv[1], int(sys.argv[2])
    parts = urlsplit(url)
    place, sent = (str(parts.hostname), int(parts.port or 80)), packets(parts.netloc)
    print("ready", flush=True)
    tasks: list[asyncio.Task[None]] = []
    got: Counter[int] = Counter()
    turn = 0
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() == "go":
            got = Counter()
            tasks = [asyncio.create_task(client(place, sent, turn + n, got)) for n in range(clients)]
            turn += clients
        else:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            print(json.dumps(got), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
