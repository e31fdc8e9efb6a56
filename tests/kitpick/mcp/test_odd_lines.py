"""What a client writes to the standard input of `kitpick mcp`: every request is answered, also an odd one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import IO

import pytest
from doors import COMMAND

from kitpick.catalog import Catalog

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
BEGIN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
NOISE = (
    b"not JSON",
    b"[]",
    b"{}",
    b"3",
    b"\xff\xfe",
    b"",
    b'{"id": 1}',
    b'{"method": "ping"',
    b"[" * 100_000,
)
"""Lines that nobody waits for an answer to."""
SEARCH = b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": %s}'
ASKED = b'{"name": "search_tools", "arguments": {"query": "send a mail QUERY"}}'
ANSWERED = {
    1: ASKED.replace(b"QUERY", rb"\ud83d"),
    2: ASKED.replace(b"QUERY", rb"\ude00 \ud83d\ude00"),
    3: ASKED.replace(b"QUERY", b"\xe9"),
    4: ASKED[:-1] + b', "_meta": {"deep": ' + b"[" * 300 + b"]" * 300 + b"}}",
}
REFUSED = {
    5: b'{"id": 5, "method": "ping"}',
    6: b'{"jsonrpc": "2.0", "id": 6, "method": "ping"',
    7: b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": ' + b"[" * 100_000,
    12: b'{"jsonrpc": "2.0", "id": 12, "method": "ping", "params": 3}',
    "eight": b'{"jsonrpc": "1.0", "id": "eight", "method": "ping"}',
}


@contextmanager
def speaking(url: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A server that was told to begin: its input and its output."""
    with subprocess.Popen(
        [*COMMAND, "-c", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        watchdog = Timer(300, server.kill)
        watchdog.start()
        try:
            server.stdin.write(json.dumps(BEGIN).encode() + b"\n")
            server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            yield server.stdin, server.stdout
            server.stdin.close()
            assert server.wait(300) == 0
        finally:
            watchdog.cancel()
            server.kill()


def test_every_request_is_answered_and_noise_is_not(catalog: Catalog) -> None:
    batch = b'[{"jsonrpc": "2.0", "id": 9, "method": "ping"}, {"jsonrpc": "2.0", "id": 10, "method": "ping"}]'
    marked = b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 11, "method": "ping"}'
    lines = [*NOISE, *(SEARCH % item for item in ANSWERED.items()), *REFUSED.values(), batch, marked, *NOISE]
    expected = {0, *ANSWERED, *REFUSED, 9, 10, 11}
    with speaking(catalog.settings.catalog) as (asked, said):
        asked.write(b"\n".join([*lines, b""]))
        asked.flush()
        answers = [json.loads(said.readline()) for _ in expected]
    by_id = {answer["id"]: answer for answer in answers}
    assert set(by_id) == expected
    assert {key for key, answer in by_id.items() if "error" in answer} == set(REFUSED)
    for key in ANSWERED:
        assert "send_email" in by_id[key]["result"]["content"][0]["text"]
