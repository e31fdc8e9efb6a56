"""A million synthetic APIs in OpenSearch: how fast they are taken in and searched, and how well found.

What they are made of: synthetic_apis.py. Requests are those of ToolBench dev, with vectors of the
shipped encoder.

`load` starts a node whose data stays in FOLDER and syncs the catalog. `search` starts the node on the same
data and measures: recall@50 of the engine's vector ranking against exact search over all vectors
(`recall_at_50_1m`), that of the graph when asked for 50 without surplus, and times of hybrid searches for
50 candidates of each ranking, one after the other. Printed last is one JSON object, also kept in
FOLDER/figures.json.

    scripts/bench large_catalog load FOLDER [--documents 1000000] [--heap 6g]
    scripts/bench large_catalog search FOLDER [--requests 200]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from shared_data import DATA
from synthetic_apis import (
    CANDIDATES,
    Floats,
    NumberedVectors,
    RealApis,
    SyntheticSource,
    exact,
    mean_recall,
    percentiles,
    prepare,
    search_ms,
)

from kitpick_engines.contract import Filter
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.queries import committed
from kitpick_engines.remote.state import StateStore
from kitpick_ingest.embedder import schema_of
from kitpick_ingest.sync import SyncOptions, sync

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "nodes"))
from node_process import Node
from opensearch_node import opensearch_node

LOAD_SETTINGS = {"index.translog.flush_threshold_size": "4gb", "index.merge.policy.segments_per_tier": 30}
"""Few large segments, and none of their graphs is built twice; docs/operating.md says more."""
NODE_SETTINGS = ("indices.memory.index_buffer_size=40%",)
_SUSPENDED = 10.0
"""Seconds between two looks, one a second, from which on the machine was busy with something else."""


def main() -> None:
    """Reads the command line and prints one JSON object last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["load", "search"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--heap", default="6g")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument(
        "--merge", action="store_true", help="after loading, merge everything into one segment"
    )
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    figures = load(options) if options.command == "load" else search(options)
    print(json.dumps(keep(options.folder, figures)))


def keep(folder: Path, figures: dict[str, Any]) -> dict[str, Any]:
    """Adds figures to those of former runs in the folder."""
    file = folder / "figures.json"
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(json.dumps(known | figures, indent=2), "utf-8")
    return {**known, **figures}


@contextmanager
def node(folder: Path, heap: str) -> Iterator[Node]:
    """A node over the data of the folder."""
    place = folder / "node"
    place.mkdir(parents=True, exist_ok=True)
    started = opensearch_node(place, heap=heap, settings=NODE_SETTINGS)
    try:
        yield started.start()
    finally:
        started.stop()


def url_of(running: Node) -> str:
    """URL of the catalog: one shard, and so patient that it outlasts a machine that is suspended."""
    place = running.url.partition("://")[2]
    return f"opensearch://{place}/large?shards=1&replicas=0&timeout=900&patience=900&busy=900"


def load(options: argparse.Namespace) -> dict[str, Any]:
    """Syncs the catalog, watched meanwhile, and waits until the server has merged what it wants to."""
    real = prepare(options.folder, options.data)
    with node(options.folder, options.heap) as running, closing(open_engine(url_of(running))) as engine:
        assert isinstance(engine, RemoteEngine)
        vectors = NumberedVectors(real)
        index = engine.ensure(schema_of(vectors))
        engine.server.call("PUT", f"/{index}/_settings", LOAD_SETTINGS)
        watch = Watch(engine, index, running.pid)
        settings = SyncOptions(locks=options.folder / "locks", source_timeout=None)
        source = SyntheticSource(real, options.documents)
        with ThreadPoolExecutor(1) as pool:
            syncing = pool.submit(sync, source, engine, vectors, None, settings)
            while not syncing.done():
                watch.look()
            syncing.result()
        return watch.figures()


class Watch:
    """Looks at the server once a second, and adds up the time in which this process was not suspended."""

    def __init__(self, engine: RemoteEngine, index: str, pid: int) -> None:
        self.engine = engine
        self._index = index
        self._node = psutil.Process(pid)
        self._before = self.count()
        self._last = self._shown = time.monotonic()
        self.seconds = 0.0
        self.suspended = 0.0

    def look(self) -> None:
        """Waits a second and counts it; prints a line every half a minute."""
        time.sleep(1)
        now = time.monotonic()
        spent, self._last = now - self._last, now
        if spent > _SUSPENDED:
            self.suspended += spent
        else:
            self.seconds += spent
        if now - self._shown > 30:
            self._shown = now
            print(f"{self.seconds:6.0f} s: {self.count():,} written, {self.memory()}", flush=True)

    def count(self) -> int:
        """Documents that were written, visible or not."""
        stats = self.engine.server.call("GET", f"/{self._index}/_stats/indexing")
        return int(stats["_all"]["primaries"]["indexing"]["index_total"])

    def memory(self) -> dict[str, float]:
        """Of the node, in GB."""
        nodes = self.engine.server.call("GET", "/_nodes/stats/jvm")["nodes"].values()
        heap = sum(each["jvm"]["mem"]["heap_used_in_bytes"] for each in nodes)
        return {"heap_gb": round(heap / 1e9, 2), "rss_gb": round(self._rss() / 1e9, 2)}

    def processor_seconds(self) -> float:
        """Of the node, since its start."""
        times = self._node.cpu_times()
        return float(times.user + times.system)

    def _rss(self) -> int:
        return int(self._node.memory_info().rss)

    def figures(self) -> dict[str, Any]:
        """After the sync; then merges are waited for."""
        written, wrote = self.count() - self._before, self.seconds
        self.engine.server.call("POST", f"/{self._index}/_flush")
        while self._merging():
            self.look()
        stats = self.engine.stats()
        assert stats is not None
        return {
            "documents": stats.documents,
            "written": written,
            "load_seconds": round(wrote),
            "merge_seconds_after": round(self.seconds - wrote),
            "suspended_seconds": round(self.suspended),
            "documents_per_second": round(written / max(wrote, 1)),
            "bytes_per_document": round(stats.bytes / max(stats.documents, 1)),
            "disk_gb": round(stats.bytes / 1e9, 2),
            "segments": self._segments(),
            "memory_loading": self.memory(),
        }

    def _merging(self) -> bool:
        stats = self.engine.server.call("GET", f"/{self._index}/_stats/merge")
        return bool(stats["_all"]["primaries"]["merges"]["current"])

    def _segments(self) -> int:
        stats = self.engine.server.call("GET", f"/{self._index}/_stats/segments")
        return int(stats["_all"]["primaries"]["segments"]["count"])


def search(options: argparse.Namespace) -> dict[str, Any]:
    """Recall and times over what was loaded."""
    real = RealApis(options.folder)
    with node(options.folder, options.heap) as running, closing(open_engine(url_of(running))) as engine:
        assert isinstance(engine, RemoteEngine)
        live = engine.live()
        stats = engine.stats()
        assert live is not None
        assert stats is not None
        picked = np.linspace(0, len(real.requests) - 1, options.requests).astype(int)
        nearest = exact(real, np.arange(stats.documents), real.queries[picked])
        wanted = [{real.synthetic(int(number)).id for number in row} for row in nearest]
        found, plain = [], []
        for position in picked:  # which also warms the server up
            vector = real.queries[position]
            found.append({c.id for c in engine.neighbours(vector, CANDIDATES, Filter())})
            plain.append(graph_only(engine, live[0], vector))
        watch = Watch(engine, live[0], running.pid)
        return {
            "searched_documents": stats.documents,
            "recall_at_50_1m": round(mean_recall(found, wanted), 4),
            "graph_recall_at_50": round(mean_recall(plain, wanted), 4),
            **timed(watch, real, picked),
            "memory_searching": watch.memory(),
        }


def timed(watch: Watch, real: RealApis, picked: Sequence[int]) -> dict[str, Any]:
    """Milliseconds of searches by kind; `hybrid_first`: of requests whose words were never asked for."""
    figures: dict[str, Any] = {}
    both, words, vectors = (True, True), (True, False), (False, True)
    kinds = {"hybrid_first": both, "hybrid": both, "lexical": words, "vector": vectors}
    for name, (lexical, dense) in kinds.items():
        before = watch.processor_seconds()
        times = [search_ms(watch.engine, real, position, lexical, dense) for position in picked]
        spent = 1e3 * (watch.processor_seconds() - before) / len(times)
        figures[f"{name}_ms"] = {**percentiles(times), "server_cpu": round(spent, 1)}
    return figures


def graph_only(engine: RemoteEngine, index: str, vector: Floats) -> set[str]:
    """Ids of the graph's own 50 nearest, of what was committed, as the server scores them."""
    now = StateStore(engine.server, engine.address.name).load()
    assert now is not None
    shown = {"bool": {"filter": committed(now.state.index(index))}}
    query = {"knn": {"vector": {"vector": vector.tolist(), "k": CANDIDATES, "filter": shown}}}
    body = {"size": CANDIDATES, "query": query, "_source": ["id"]}
    hits = engine.server.call("POST", f"/{index}/_search", body)["hits"]["hits"]
    return {hit["_source"]["id"] for hit in hits}


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
