"""How the cost of a catalog grows with its APIs, in SQLite, OpenSearch and Elasticsearch.

Takes the same synthetic APIs (synthetic_apis.py) into each engine, with their vectors, in one process, and
searches them by requests of ToolBench dev for 50 candidates of each ranking: first one request after the
other, then four at a time. Every catalog is filled and searched in a process of its own, whose memory is what
SQLite needs; a server's is that of its node. Printed are a table and, last, one JSON object.

`--sizes` and `--engines` choose, `--requests N`, `--keep FILE` adds to what former runs found, `--data DIR`,
`--work DIR` holds the catalogs while they are measured.

- `sqlite_from_opensearch_p50`: at each size, the median of SQLite's hybrid search over OpenSearch's; above 1
  OpenSearch is the faster one. `sqlite_from_opensearch_rate` is that of requests a second, four at a time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import uuid
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
    NumberedVectors,
    RealApis,
    SyntheticSource,
    exact,
    mean_recall,
    percentiles,
    prepare,
    search_ms,
)

from kitpick_engines.contract import Engine, Filter
from kitpick_engines.opening import open_engine
from kitpick_ingest.sync import SyncOptions, sync

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "nodes"))
from elasticsearch_node import elasticsearch_node
from node_process import Node
from opensearch_node import opensearch_node

SERVERS = {"opensearch": opensearch_node, "elasticsearch": elasticsearch_node}
AT_A_TIME = 4
Report = dict[str, Any]


def main() -> None:
    """Reads the command line, measures, prints a table and one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,20000,100000")
    parser.add_argument("--engines", default="sqlite,opensearch,elasticsearch")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--work", type=Path, default=Path("var/engine-sizes"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options, options.one, int(options.sizes))))
        return
    found: dict[str, Report] = {}
    if options.keep and options.keep.exists():
        found = json.loads(options.keep.read_text("utf-8"))["catalogs"]
    prepare(options.work, options.data)
    for size in map(int, options.sizes.split(",")):
        for engine in options.engines.split(","):
            found[f"{engine}/{size}"] = in_process(options, engine, size)
            show(f"{engine}/{size}", found[f"{engine}/{size}"])
            if options.keep:
                options.keep.write_text(json.dumps(summary(found), indent=2), "utf-8")
    print(json.dumps(summary(found)))


def in_process(options: argparse.Namespace, engine: str, size: int) -> Report:
    """The figures of one catalog, measured in a process that is used for nothing else."""
    with tempfile.TemporaryDirectory(dir=options.work) as folder, place(engine, Path(folder)) as (url, node):
        command = [sys.executable, __file__, "--one", url, "--sizes", str(size), "--work", str(options.work)]
        command += ["--requests", str(options.requests)]
        report: Report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        if node is not None:
            report["server_mb"] = megabytes(psutil.Process(node.pid))
        return report


@contextmanager
def place(engine: str, folder: Path) -> Iterator[tuple[str, Node | None]]:
    """URL of an empty catalog, and the node that holds it."""
    if engine == "sqlite":
        yield f"sqlite:{folder / 'catalog.db'}", None
        return
    node = SERVERS[engine](folder).start()
    try:
        address = node.url.partition("://")[2]
        yield f"{engine}://{address}/sizes-{uuid.uuid4().hex[:8]}?shards=1&replicas=0", node
    finally:
        node.stop()


def measure(options: argparse.Namespace, url: str, size: int) -> Report:
    """Fills one catalog and searches it."""
    real = RealApis(options.work)
    source, vectors = SyntheticSource(real, size), NumberedVectors(real)
    with closing(open_engine(url)) as engine, tempfile.TemporaryDirectory() as locks:
        report = sync(source, engine, vectors, None, SyncOptions(locks=Path(locks), source_timeout=None))
        loaded = megabytes(psutil.Process())
        stats = engine.stats()
        assert stats is not None
        picked = np.linspace(0, len(real.requests) - 1, options.requests).astype(int).tolist()
        return {
            "documents": stats.documents,
            "documents_per_second": round(report.added / report.seconds["total"]),
            "disk_mb": round(stats.bytes / 1e6),
            "recall_at_50": round(recall(engine, real, size, picked), 4),
            **times(engine, real, picked),
            "process_loaded_mb": loaded,
            "process_mb": megabytes(psutil.Process()),
        }


def recall(engine: Engine, real: RealApis, size: int, picked: Sequence[int]) -> float:
    """Recall@50 of the vector ranking; asking also warms the engine up."""
    nearest = exact(real, np.arange(size), real.queries[picked])
    wanted = [{real.synthetic(int(number)).id for number in row} for row in nearest]
    queries = (real.queries[each] for each in picked)
    return mean_recall([{c.id for c in engine.neighbours(q, CANDIDATES, Filter())} for q in queries], wanted)


def times(engine: Engine, real: RealApis, picked: Sequence[int]) -> Report:
    """Milliseconds of a hybrid search of words seen before, of its two rankings, and searches a second."""
    for each in picked:
        search_ms(engine, real, each, True, True)
    kinds = {"hybrid": (True, True), "lexical": (True, False), "vector": (False, True)}
    figures: Report = {
        f"{kind}_ms": percentiles([search_ms(engine, real, each, *asked) for each in picked])
        for kind, asked in kinds.items()
    }
    started = time.perf_counter()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda each: search_ms(engine, real, each, True, True), picked))
    figures["searches_per_second"] = round(len(picked) / (time.perf_counter() - started), 1)
    return figures


def megabytes(process: psutil.Process) -> int:
    """Resident memory, mapped files included."""
    return round(process.memory_info().rss / 1e6)


def summary(found: dict[str, Report]) -> Report:
    """All figures, and SQLite's over OpenSearch's by size."""
    slower, rate = {}, {}
    for name, ours in found.items():
        engine, _, size = name.partition("/")
        other = found.get(f"opensearch/{size}")
        if engine == "sqlite" and other:
            slower[size] = round(ours["hybrid_ms"]["p50"] / other["hybrid_ms"]["p50"], 2)
            rate[size] = round(ours["searches_per_second"] / other["searches_per_second"], 2)
    return {"sqlite_from_opensearch_p50": slower, "sqlite_from_opensearch_rate": rate, "catalogs": found}


def show(name: str, report: Report) -> None:
    """A line for each figure of a catalog."""
    print(f"{name:<22} " + ", ".join(f"{key} {value}" for key, value in report.items()), flush=True)


if __name__ == "__main__":
    main()
