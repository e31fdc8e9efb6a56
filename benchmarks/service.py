"""The rescorer service under load, against the same model without it.

One process serves (`toolrank serve`), another asks, both on the same cores. Sides of a ratio are measured in
turn, several times, and medians are compared.

- `vs_offline`: pairs a second of 32 clients that ask with 5 to 100 documents each, over those of one call of
  the model on the same pairs (tokenising included on both sides, nothing cached on either).
- `p99_over_p50`: of the latencies of those clients.
- `http_overhead_ms`: one client's latency over HTTP minus that of the same scoring in this process, medians.

`--seconds N` (a round of load, default 20), `--rounds N` (default 3), `--clients N` (default 32).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
import numpy as np
from rich.console import Console
from rich.table import Table

from toolrank_engines.document import ApiDocument
from toolrank_engines.text import rerank_text
from toolrank_ingest.opening import open_source
from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.runtime import load_cross_encoder
from toolrank_models.settings import RuntimeSettings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZES = (5, 10, 20, 30, 50, 100)
QUERY = "check the weather at my destination and find a hotel near the conference centre"


def main() -> int:
    """Prints one table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    texts = tool_texts(options.data / "toolbench" / "apis.jsonl")
    model = load_cross_encoder(settings=RuntimeSettings(cached_tokens=0))
    with serving() as url:
        loads = []
        offline = []
        for turn in range(options.rounds):
            offline.append(offline_rate(model, texts, seed=turn))
            loads.append(Load(url, texts, options.clients, options.seconds, seed=turn))
        overhead = http_overhead(url, model, texts)
    report(offline, loads, overhead)
    return 0


def tool_texts(catalog: Path) -> list[str]:
    """The rerank texts of real tools."""
    documents = open_source(f"toolbench:{catalog}", name="toolbench").read()
    return [rerank_text(item) for item in documents if isinstance(item, ApiDocument)]


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """`toolrank serve` in a process of its own, remembering no scores; its URL."""
    command = [sys.executable, "-c", "from toolrank.cli import main; main()", "serve", "--port", "0"]
    settings = ["--set", "score_cache=0", "--set", "log_level=warning", *options]
    with subprocess.Popen([*command, *settings], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        if "toolrank serves" not in first:
            raise SystemExit(first + process.stderr.read())
        try:
            yield first.split()[2]
        finally:
            process.send_signal(signal.SIGTERM)


def offline_rate(model: CrossEncoder, texts: Sequence[str], seed: int, pairs: int = 1_500) -> float:
    """Pairs a second of one call."""
    chosen = random.Random(seed).sample(texts, pairs)
    started = time.perf_counter()
    model.score(f"{QUERY} {seed}", chosen)
    return pairs / (time.perf_counter() - started)


class Load:
    """Clients that ask one request after another; the figures of one round."""

    def __init__(self, url: str, texts: Sequence[str], clients: int, seconds: float, seed: int) -> None:
        self.latencies: list[float] = []
        self.pairs = 0
        self.refused = 0
        self._lock = threading.Lock()
        self._url = url
        self._texts = texts
        self._until = time.perf_counter() + seconds
        started = time.perf_counter()
        threads = [threading.Thread(target=self._client, args=(1_000 * seed + n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.rate = self.pairs / (time.perf_counter() - started)

    def _client(self, seed: int) -> None:
        choice = random.Random(seed)
        with httpx2.Client(base_url=self._url, timeout=120, trust_env=False) as client:
            while time.perf_counter() < self._until:
                size = choice.choice(SIZES)
                body = {"query": f"{QUERY} {choice.random()}", "texts": choice.sample(self._texts, size)}
                content = json.dumps(body).encode()
                started = time.perf_counter()
                answer = client.post("/rerank", content=content)
                self._note(answer, size, time.perf_counter() - started)

    def _note(self, answer: httpx2.Response, size: int, seconds: float) -> None:
        with self._lock:
            if answer.status_code != 200:
                self.refused += 1
                return
            self.latencies.append(seconds)
            self.pairs += size

    def percentile(self, q: float) -> float:
        """Of the latencies, in milliseconds."""
        return float(np.percentile(self.latencies, q)) * 1e3


def http_overhead(url: str, model: CrossEncoder, texts: Sequence[str], repeats: int = 60) -> float:
    """Milliseconds that a request of 20 documents takes longer over HTTP, medians of interleaved calls."""
    here: list[float] = []
    there: list[float] = []
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        for turn in range(repeats):
            query, chosen = f"{QUERY} {turn}", random.Random(turn).sample(texts, 20)
            content = json.dumps({"query": query, "texts": chosen}).encode()
            started = time.perf_counter()
            model.score(query, chosen)
            here.append(time.perf_counter() - started)
            started = time.perf_counter()
            client.post("/rerank", content=content)
            there.append(time.perf_counter() - started)
    return (statistics.median(there) - statistics.median(here)) * 1e3


def report(offline: Sequence[float], loads: Sequence[Load], overhead: float) -> None:
    """The table and the JSON line."""
    table = Table(title=f"{os.cpu_count()} cores, server and clients together")
    for column in ("round", "offline pairs/s", "service pairs/s", "p50 ms", "p99 ms", "requests", "refused"):
        table.add_column(column, justify="right")
    for number, (rate, load) in enumerate(zip(offline, loads, strict=True), start=1):
        p50, p99 = load.percentile(50), load.percentile(99)
        cells = (number, f"{rate:.0f}", f"{load.rate:.0f}", f"{p50:.0f}", f"{p99:.0f}", len(load.latencies))
        table.add_row(*map(str, cells), str(load.refused))
    Console().print(table)
    figures = {
        "offline_pairs_per_second": statistics.median(offline),
        "service_pairs_per_second": statistics.median(load.rate for load in loads),
        "p50_ms": statistics.median(load.percentile(50) for load in loads),
        "p99_ms": statistics.median(load.percentile(99) for load in loads),
        "http_overhead_ms": overhead,
    }
    figures["vs_offline"] = figures["service_pairs_per_second"] / figures["offline_pairs_per_second"]
    figures["p99_over_p50"] = figures["p99_ms"] / figures["p50_ms"]
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    sys.exit(main())
