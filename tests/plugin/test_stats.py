"""What `GET /_plugins/_toolrank/stats` shows to those who operate the cluster."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from double import Call, Double, answering, backwards, reset, silent
from searching import QUERY, TOTAL, Search, report

pytestmark = pytest.mark.needs("jdk")


def stats(search: Search) -> dict[str, Any]:
    answer = search.call("GET", "/_plugins/_toolrank/stats")
    assert answer["_nodes"] == {"total": 1, "successful": 1, "failed": 0}
    (node,) = answer["nodes"].values()
    result: dict[str, Any] = node
    return result


def difference(before: dict[str, Any], after: dict[str, Any], *path: str) -> int:
    for name in path:
        before, after = before.get(name, 0) if before else 0, after[name]  # type: ignore[assignment]
    return int(after) - int(before)  # type: ignore[call-overload]


def test_searches_are_counted_by_how_they_ended(search: Search, double: Double) -> None:
    before = stats(search)
    with double.behaving(answering(backwards)):
        search()
        search()
    search({"size": 0})
    with double.behaving(reset):
        search()
    after = stats(search)
    assert difference(before, after, "searches") == 4
    assert difference(before, after, "rescored") == 2
    assert difference(before, after, "skipped", "size_zero") == 1
    assert difference(before, after, "original", "connection") == 1
    assert difference(before, after, "retries") == 1
    assert difference(before, after, "request_bytes") > 1000


def test_times_are_shown_as_percentiles(search: Search, double: Double) -> None:
    with double.behaving(answering(backwards)):
        search()
    shown = stats(search)
    assert 0 < shown["took_ms"]["p50"] <= shown["took_ms"]["p95"] <= shown["took_ms"]["p99"]
    assert shown["service_ms"]["p50"] > 0


def test_nothing_stays_under_way_and_the_circuit_is_closed(search: Search, double: Double) -> None:
    with double.behaving(silent):
        search({"ext": {"toolrank": {"deadline_ms": 50}}})
    shown = stats(search)
    assert shown["in_flight"] == 0
    assert shown["breaker"] == {"state": "closed", "opened": 0}
    assert shown["configured"] is True


def test_no_thread_waits_for_the_service(search: Search, double: Double) -> None:
    """Forty searches wait for an answer, and no pool is busy: others don't wait for them."""
    release = threading.Event()

    async def held_back(call: Call, writer: Any) -> None:
        while not release.is_set():
            await asyncio.sleep(0.02)
        await answering(backwards)(call, writer)

    line = {"size": 1, "query": {"match": {"text": QUERY}}, "search_pipeline": "toolrank"}
    lines = [each for _ in range(40) for each in ({"index": "apis"}, line)]
    with double.behaving(held_back), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(search.call, "POST", "/_msearch?max_concurrent_searches=40", lines)
        try:
            while stats(search)["in_flight"] < 40:
                assert not waiting.done()
                time.sleep(0.05)
            pools = search.call("GET", "/_cat/thread_pool?format=json&h=name,active,queue")
            busy = {each["name"] for each in pools if int(each["active"]) + int(each["queue"]) > 0}
            assert not busy & {"toolrank", "search"}
            assert search.call("POST", "/apis/_count")["count"] == TOTAL
            assert not waiting.done()
        finally:
            release.set()
        answers = waiting.result()["responses"]
    assert [report(answer)["status"] for answer in answers] == ["rescored"] * 40


def test_one_node_can_be_asked(search: Search) -> None:
    answer = search.call("GET", "/_plugins/_toolrank/_local/stats")
    assert len(answer["nodes"]) == 1


def test_the_threads_are_the_plugins_own(search: Search) -> None:
    pools = search.call("GET", "/_cat/thread_pool?format=json&h=name,type")
    assert {"name": "toolrank", "type": "scaling"} in pools
