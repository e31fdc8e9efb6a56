"""What the OpenSearch plugin costs a search, and how long a hostile service can hold one up.

A real node with the Java agent and the plugin, the 4,331 APIs of ToolBench in it, requests of ToolBench dev
as match queries. `plugin_added_ms`: a search for 5 hits through the plugin (window 50) less the same search
without it, less the time that the service says it took; median of pairs that alternate, over one kept
connection. `hostile_worst_ms`: the longest that any search took beyond its deadline and beyond the median of
the same searches without the plugin, over all of `tests/plugin/misdeeds.py`.

`window_goodput_ratio_64`, `shed_added_ms`, `plugin_vs_python_throughput`, `bytes_per_query`: see
`benchmarks/plugin_load.py`. The own query under 1 to 64 clients, and seconds of processor time: see
`benchmarks/plugin_own.py`. `peak_mb` under oversized requests: see `benchmarks/plugin_memory.py`.

`--parts` chooses. `--searches N` for each profile, `--hostile N` for each misdeed, `--warm-up N` before
either; `--seconds` of a round under load, `--clients` of these rounds, with commas between, `--alone` clients
of the service alone; `--data FOLDER`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from shared_data import DATA

from plugin_node import body_of, filled_node, stored  # isort: skip - adds folders to the path
from building import build
from double import Double, answering, backwards
from misdeeds import MISDEEDS
from plugin_load import CLIENTS, Plan, load, traffic
from plugin_memory import memory
from plugin_own import own, processor
from real_service import serving

from kitpick.evaluation.measuring import Plan as Evaluated
from kitpick.evaluation.measuring import judged_dataset
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_ingest.progress import NullProgress

PROFILES = ("kitpick", "hybrid")
DEADLINE_MILLIS = 300
WARM_UP = 400
"""Searches before anything is timed: a node in service has long compiled what it runs."""
PARTS = ("added", "hostile", "load", "own", "processor", "bytes", "memory")


def main() -> None:
    """Prints tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--searches", type=int, default=150)
    parser.add_argument("--hostile", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=WARM_UP)
    parser.add_argument("--parts", default=",".join(PARTS), help=", ".join(PARTS))
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--clients", default=",".join(map(str, CLIENTS)))
    parser.add_argument("--alone", type=int, default=4)
    arguments = parser.parse_args()
    parts = arguments.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}; known are {PARTS}")
    dataset = open_dataset("toolbench", arguments.data)
    documents = (item for item in dataset.source.read() if isinstance(item, ApiDocument))
    apis = {str(n): stored(item) for n, item in enumerate(documents)}
    texts = [query.text for query in dataset.queries]
    plugin = build("package", "-DskipTests")
    warm_up = arguments.warm_up
    result: dict[str, Any] = {}
    if "added" in parts:
        result |= added(plugin, apis, texts, arguments.searches, warm_up)
    if "hostile" in parts:
        result |= hostile(plugin, apis, texts, arguments.hostile, warm_up)
    if {"load", "own", "processor", "bytes", "memory"} & set(parts):
        plan = Plan([int(each) for each in arguments.clients.split(",")], arguments.alone, arguments.seconds)
        evaluated = Evaluated(profiles=("kitpick",))
        with judged_dataset("toolbench", arguments.data, evaluated, NullProgress()) as judged:
            result |= load(plugin, apis, texts, judged.catalog, plan) if "load" in parts else {}
            result |= own(plugin, apis, texts, judged.catalog, arguments.seconds) if "own" in parts else {}
            if "processor" in parts:
                result |= processor(plugin, apis, texts, judged.catalog, arguments.searches)
            result |= traffic(plugin, apis, texts, judged.catalog) if "bytes" in parts else {}
            result |= memory(plugin, apis, texts, judged.catalog) if "memory" in parts else {}
    print(json.dumps(result))


@contextmanager
def node(plugin: Path, endpoint: str, key: str, apis: dict[str, Any]) -> Iterator[Searcher]:
    """Searches on a node that never gives up its service, however long that takes."""
    patient = ("kitpick.deadline=60s", "kitpick.breaker.failures=10000")
    with filled_node(plugin, endpoint, key, apis, patient) as running:
        yield Searcher(running.url)


class Searcher:
    """Searches over one kept connection, and says how long each took."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)

    def __call__(self, text: str, section: dict[str, Any] | None = None) -> tuple[float, dict[str, Any]]:
        """Milliseconds, and the answer; without a section the plugin has no part in it."""
        path, body = body_of(text, section)
        data = json.dumps(body)
        started = time.perf_counter()
        self.connection.request("POST", path, data, {"Content-Type": "application/json"})
        answer = self.connection.getresponse().read()
        milliseconds = (time.perf_counter() - started) * 1e3
        return milliseconds, json.loads(answer)


def added(
    plugin: Path, apis: dict[str, Any], texts: Sequence[str], searches: int, warm_up: int
) -> dict[str, Any]:
    """Milliseconds that the plugin adds to a search beyond the service's own time."""
    table = Table("profile", "plain ms", "with plugin ms", "service ms", "added ms", "p95 added ms")
    result: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as service,
        node(plugin, service.url, service.key, apis) as search,
    ):
        for profile in PROFILES:
            for text in texts[-warm_up:]:
                pair(search, text, profile)
            rows = [pair(search, text, profile) for text in texts[:searches]]
            plain, whole, own = (statistics.median(column) for column in zip(*rows, strict=True))
            over = [with_plugin - without - served for without, with_plugin, served in rows]
            quantiles = statistics.quantiles(over, n=20)
            table.add_row(
                profile,
                *(f"{value:.1f}" for value in (plain, whole, own, statistics.median(over), quantiles[-1])),
            )
            suffix = "" if profile == PROFILES[0] else f"_{profile}"
            result[f"plugin_added_ms{suffix}"] = round(statistics.median(over), 2)
    Console(width=110).print(table)
    return result


def pair(search: Searcher, text: str, profile: str) -> tuple[float, float, float]:
    """One search without the plugin and one with it."""
    without, _ = search(text)
    with_plugin, answer = search(text, {"profile": profile})
    report = answer["ext"]["kitpick"]
    assert report["status"] == "rescored", report
    return without, with_plugin, report["service_ms"]


def hostile(
    plugin: Path, apis: dict[str, Any], texts: Sequence[str], searches: int, warm_up: int
) -> dict[str, Any]:
    """How far beyond its deadline a search was answered at the worst."""
    table = Table("service", "reason", "median added ms", "worst added ms")
    worst = 0.0
    double = Double()
    with node(plugin, double.url, "key", apis) as search:
        with double.behaving(answering(backwards)):
            for text in texts[:warm_up]:
                search(text, {})
        plain = statistics.median(search(text)[0] for text in texts[:warm_up])
        for name, (behaviour, _) in MISDEEDS.items():
            with double.behaving(behaviour):
                runs = [search(text, {"deadline_ms": DEADLINE_MILLIS}) for text in texts[:searches]]
            reports = [answer["ext"]["kitpick"] for _, answer in runs]
            assert all(len(answer["hits"]["hits"]) == 5 for _, answer in runs)
            assert all(report["status"] == "original" for report in reports)
            times = [milliseconds - plain for milliseconds, _ in runs]
            worst = max(worst, *times)
            reasons = "/".join(sorted({report["reason"] for report in reports}))
            table.add_row(name, reasons, f"{statistics.median(times):.1f}", f"{max(times):.1f}")
    double.close()
    Console(width=110).print(table)
    print(f"deadline {DEADLINE_MILLIS} ms, {searches} searches under each service")
    return {"deadline_ms": DEADLINE_MILLIS, "hostile_worst_ms": round(worst - DEADLINE_MILLIS, 1)}


if __name__ == "__main__":
    main()
