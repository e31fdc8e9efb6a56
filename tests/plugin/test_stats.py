"""What operators see in `GET /_plugins/_kitpick/stats`, and what they set while the cluster runs."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from double import Call, Double, answering, backwards, reset, silent
from real_service import Service
from searching import QUERY, TOTAL, Refused, Search, report, setting

pytestmark = pytest.mark.needs("jdk")


def stats(search: Search) -> dict[str, Any]:
    answer = search.call("GET", "/_plugins/_kitpick/stats")
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
        search({"ext": {"kitpick": {"deadline_ms": 50}}})
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

    line = {"size": 1, "query": {"match": {"text": QUERY}}, "search_pipeline": "kitpick"}
    lines = [each for _ in range(40) for each in ({"index": "apis"}, line)]
    with double.behaving(held_back), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(search.call, "POST", "/_msearch?max_concurrent_searches=40", lines)
        try:
            while stats(search)["in_flight"] < 40:
                assert not waiting.done()
                time.sleep(0.05)
            pools = search.call("GET", "/_cat/thread_pool?format=json&h=name,active,queue")
            busy = {each["name"] for each in pools if int(each["active"]) + int(each["queue"]) > 0}
            assert not busy & {"kitpick", "search"}
            assert search.call("POST", "/apis/_count")["count"] == TOTAL
            assert not waiting.done()
        finally:
            release.set()
        answers = waiting.result()["responses"]
    assert [report(answer)["status"] for answer in answers] == ["rescored"] * 40


def test_one_node_can_be_asked(search: Search) -> None:
    answer = search.call("GET", "/_plugins/_kitpick/_local/stats")
    assert len(answer["nodes"]) == 1


def test_the_threads_are_the_plugins_own(search: Search) -> None:
    pools = search.call("GET", "/_cat/thread_pool?format=json&h=name,type")
    assert {"name": "kitpick", "type": "scaling"} in pools


class TestLimitsChangeWithoutARestart:
    def test_the_deadline(self, search: Search, double: Double) -> None:
        with double.behaving(silent), setting(search, "kitpick.deadline", "50ms"):
            assert report(search())["reason"] == "timeout"

    def test_searches_at_a_time(self, search: Search, double: Double) -> None:
        release = threading.Event()

        async def held_back(call: Call, writer: Any) -> None:
            while not release.is_set():
                await asyncio.sleep(0.02)
            await answering(backwards)(call, writer)

        with (
            double.behaving(held_back),
            setting(search, "kitpick.max_concurrent", 1),
            ThreadPoolExecutor(1) as pool,
        ):
            waiting = pool.submit(search)
            try:
                while stats(search)["in_flight"] < 1:
                    time.sleep(0.05)
                assert report(search())["reason"] == "too_many"
            finally:
                release.set()
            assert report(waiting.result())["status"] == "rescored"

    def test_the_memory_of_calls_under_way(self, search: Search, double: Double) -> None:
        with double.behaving(answering(backwards)):
            with setting(search, "breaker.kitpick.limit", "1kb"):
                assert report(search())["reason"] == "too_many"
                assert not double.calls
            assert report(search())["status"] == "rescored"
        (node,) = search.call("GET", "/_nodes/stats/breaker")["nodes"].values()
        assert node["breakers"]["kitpick"]["estimated_size_in_bytes"] == 0
        assert node["breakers"]["kitpick"]["tripped"] > 0

    def test_the_window(self, search: Search, double: Double) -> None:
        with double.behaving(answering(backwards)), setting(search, "kitpick.max_window", 6):
            said = report(search({"ext": {"kitpick": {"window": 15}}}))
            assert len(double.calls[0]["candidates"]) == said["window"] == 6
        assert said["degraded"] == [{"stage": "window", "reason": "kitpick.max_window is 6"}]
        with setting(search, "kitpick.max_window", 30):
            assert "degraded" not in report(search({"size": 3})), "its window is 20"

    def test_but_neither_the_place_nor_what_is_out_of_bounds(self, search: Search) -> None:
        for name, value in (("kitpick.endpoint", "http://example.org"), ("kitpick.max_window", 0)):
            with pytest.raises(Refused) as refused, setting(search, name, value):
                pass
            assert refused.value.status == 400


DASHBOARD = Path(__file__).resolve().parents[2] / "plugin" / "dashboards" / "kitpick.json"


def metrics(search: Search) -> str:
    """What Prometheus reads of the node."""
    with urllib.request.urlopen(f"{search.url}/_plugins/_kitpick/metrics", timeout=60) as answer:
        assert answer.headers["Content-Type"].lower().startswith("text/plain; version=0.0.4")
        return str(answer.read().decode())


def metric_names(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))


class TestPrometheus:
    def test_the_same_counts_with_the_nodes_name(self, search: Search, double: Double) -> None:
        with double.behaving(answering(backwards)):
            search()
        shown, text = stats(search), metrics(search)
        name = shown["name"]
        assert f'kitpick_node_rescored_total{{node="{name}"}} {shown["rescored"]}\n' in text
        assert f'kitpick_node_breaker_open{{node="{name}"}} 0\n' in text
        (median,) = re.findall(r'kitpick_node_took_seconds\{[^}]*quantile="0.5"} (\S+)', text)
        assert float(median) == pytest.approx(shown["took_ms"]["p50"] / 1e3)

    def test_every_line_is_one_that_prometheus_reads(self, search: Search) -> None:
        text = metrics(search)
        assert text.endswith("\n")
        for line in text.splitlines():
            assert re.fullmatch(r'# TYPE \w+ (counter|gauge)|\w+\{(\w+="[^"]*",?)+} [0-9.Ee+-]+', line), line

    @pytest.mark.slow
    @pytest.mark.needs("serve", "onnxruntime", "weights")
    def test_the_dashboard_asks_for_what_is_there(
        self, search: Search, double: Double, service: Service
    ) -> None:
        search({"size": 0})
        with double.behaving(reset):
            search()
        request = urllib.request.Request(
            f"{service.url}/metrics", headers={"Authorization": f"Bearer {service.key}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            there = metric_names(metrics(search)) | metric_names(answer.read().decode())
        panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
        asked = {
            name.removesuffix("_bucket")
            for panel in panels
            for target in panel["targets"]
            for name in re.findall(r"\bkitpick_\w+", target["expr"])
        }
        assert len(panels) == len({panel["id"] for panel in panels})
        assert asked - there == set()
        counted = {name for name in metric_names(metrics(search)) if name.startswith("kitpick_node_")}
        assert counted - asked == set(), "and shows all that a node counts"
