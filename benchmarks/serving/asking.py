"""Requests of mixed kinds and sizes, sent with as little work as a client can have."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

SIZES = (5, 10, 20, 30, 50, 100)
QUERY = "check the weather at my destination and find a hotel near the conference centre"


class Asked(msgspec.Struct, frozen=True):
    """How one request went. `status` 0: its caller left, or the connection broke (`broken`)."""

    status: int
    started: float
    """By `time.perf_counter`."""
    seconds: float
    broken: bool = False


class Request(msgspec.Struct, frozen=True):
    """What to send."""

    path: str
    body: bytes


def new_query(choice: random.Random) -> str:
    """A request that no cache has seen. Its number makes it about ten tokens longer."""
    return f"{QUERY} {choice.random()}"


def mixed_request(choice: random.Random, texts: Sequence[str]) -> Request:
    """Seven in ten rank texts as TEI has it, two rescore candidates, one embeds."""
    size, query = choice.choice(SIZES), new_query(choice)
    chosen, kind = choice.sample(texts, size), choice.random()
    if kind < 0.7:
        return Request("/rerank", json.dumps({"query": query, "texts": chosen}).encode())
    if kind < 0.9:
        candidates = [
            {"id": str(n), "text": text, "lexical": {"rank": n}} for n, text in enumerate(chosen, start=1)
        ]
        return Request("/v1/rescore", json.dumps({"query": query, "candidates": candidates}).encode())
    return Request("/v1/embeddings", json.dumps({"model": "encoder-pair", "input": chosen}).encode())


async def ask(url: str, request: Request, deadline: float, leaves: float | None = None) -> Asked:
    """One request on a connection of its own; the caller leaves after `leaves` seconds, if any."""
    started = time.perf_counter()
    try:
        status = await asyncio.wait_for(_exchange(url, request, deadline), leaves or 4 * deadline)
    except TimeoutError:
        return Asked(0, started, time.perf_counter() - started, broken=leaves is None)
    except (OSError, ValueError):
        return Asked(0, started, time.perf_counter() - started, broken=True)
    return Asked(status, started, time.perf_counter() - started)


async def _exchange(url: str, request: Request, deadline: float) -> int:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(
            f"POST {request.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close\r\n"
            f"x-deadline-ms: {deadline * 1e3:.0f}\r\ncontent-length: {len(request.body)}\r\n\r\n".encode()
        )
        writer.write(request.body)
        status = int((await reader.readline()).split()[1])
        await reader.read()
        return status
    except IndexError:
        raise ValueError("the connection was closed without an answer") from None
    finally:
        writer.transport.abort()
