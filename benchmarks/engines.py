"""The same catalog in SQLite, OpenSearch and Elasticsearch: do they answer alike?

ToolBench's APIs are taken into SQLite with the shipped encoder and copied into a real node of each
server, which is started for it (KITPICK_OPENSEARCH_URL and KITPICK_ELASTICSEARCH_URL name running
ones). Printed are tables and, last, one
JSON object; `--parts` chooses, and `--keep FILE` adds to what former runs of other parts found.

- `same`: `same_top10` is the share of requests whose ten best by the default profile are the same, in order,
  on all three engines, with exact vector search; `same_first_stage` that whose candidates and places are.
- `columns`: `columns_equal` is the share of requests for which NNN by column generation over the neighbours
  that the server's graph (HNSW) finds chooses the support of the exact solution over the whole corpus within
  3 rounds, the smaller of both servers; `columns_certified` that of those which could report a certificate.
- `dsl`: `same_top10_dsl` is the share of requests whose ten best by a `kitpick` query, sent to a node with
  the plugin and a service beside it, are those of `Catalog.search` over the same index (HNSW), in order;
  `degraded_dsl` says what could not be done for which request. No deadline ends anything there.
- `routes`: what each way of searching Elasticsearch without a plugin finds; `es_minus_hybrid`: the points of
  R@5 that stored searches with the rescorer have more than Python's `hybrid`.
- `ingest`: all operations of AWS services in one sync, with drawn vectors, so that no encoder counts.

`--limit N` requests, evenly spread; `--ingest N` documents at most; `--data DIR`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from engine_routes import PROFILES, measure_routes, route_figures
from nnn.columns import solve_by_columns
from numpy.typing import NDArray
from own_query import compare_own_query, node_with_plugin
from shared_data import DATA

from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Plan, judged_dataset
from kitpick_engines.contract import Candidate, Engine, Filter, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.progress import NullProgress
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_ingest.sync import SyncOptions, sync
from kitpick_rescorers.nnn.active_set import solve_active_set
from kitpick_rescorers.nnn.corpus import InvalidProblem
from kitpick_rescorers.nnn.problem import NnnProblem
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.stages.decode import Decode

NODES = Path(__file__).parents[1] / "tests" / "nodes"
SERVERS = ("opensearch", "elasticsearch")
CANDIDATES = 50
ROUNDS = 3


class DrawnVectors:
    """An embedder that costs nothing: unit vectors, drawn anew for every text."""

    identity = "drawn@1"
    dimensions = 384

    def __init__(self) -> None:
        self._rng = np.random.default_rng(7)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors (n, d)."""
        drawn = self._rng.standard_normal((len(texts), self.dimensions)).astype(np.float32)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class FirstOperations:
    """At most so many operations of AWS services."""

    name = "botocore"

    def __init__(self, most: int) -> None:
        self._most = most

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """The documents."""
        return itertools.islice(BotocoreSource().read(), self._most)


PARTS = ("same", "columns", "ingest", "dsl", "routes")


def main() -> None:
    """Reads the command line, starts the nodes, prints tables and one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help=", ".join(PARTS))
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--ingest", type=int, default=20_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}; known are {PARTS}")
    report: dict[str, Any] = {}
    if options.keep and options.keep.exists():
        report = json.loads(options.keep.read_text("utf-8"))
    with ExitStack() as stack:
        if set(parts) - {"dsl", "routes"}:
            servers = {kind: stack.enter_context(node(kind)) for kind in SERVERS}
            report |= against_servers(stack, options, parts, servers)
        if "dsl" in parts:
            report |= compare_dsl(stack, options)
        if "routes" in parts:
            report |= compare_routes(stack, options)
    if options.keep:
        options.keep.write_text(json.dumps(report, indent=2), "utf-8")
    show(report)
    print(json.dumps(report))


def against_servers(
    stack: ExitStack, options: argparse.Namespace, parts: Sequence[str], servers: dict[str, str]
) -> dict[str, Any]:
    """The parts that need running nodes."""
    report: dict[str, Any] = {}
    if {"same", "columns"} & set(parts):
        plan = Plan(profiles=("kitpick",), limit=options.limit)
        judged = stack.enter_context(judged_dataset("toolbench", options.data, plan, NullProgress()))
        requests = [query.text for query in judged.queries]
        report["requests"] = len(requests)
        if "same" in parts:
            report |= compare(copies(stack, judged.catalog, servers, "exact"), requests)
        if "columns" in parts:
            report |= all_columns(copies(stack, judged.catalog, servers, "hnsw"), requests)
    if "ingest" in parts:
        report["ingest"] = {kind: ingest(url, kind, options.ingest) for kind, url in servers.items()}
    return report


def show(report: dict[str, Any]) -> None:
    """Numbers as a table, those by engine in a line each."""
    for name, value in report.items():
        if isinstance(value, dict):
            for inner, figure in value.items():
                print(f"{name:<22} {inner:<24} {figure}")
        elif not isinstance(value, list):
            print(f"{name:<47} {value}")


@contextlib.contextmanager
def node(kind: str) -> Iterator[str]:
    """HTTP address of a node."""
    sys.path[:0] = [str(NODES), str(NODES.parent / "harness")]
    from node_fixtures import RUNNABLE, running

    yield from running(*RUNNABLE[kind])


def copies(stack: ExitStack, original: Catalog, servers: dict[str, str], vectors: str) -> dict[str, Catalog]:
    """Catalogs by engine, which share their models and scores."""
    catalogs = {"sqlite": original}
    for kind, server in servers.items():
        engine = stack.enter_context(closing(open_engine(new_url(server, kind, vectors))))
        copy_catalog(original.engine, engine, NullProgress())
        catalogs[kind] = Catalog(engine, original.settings, original.models)
    return catalogs


def new_url(server: str, kind: str, vectors: str) -> str:
    """URL of a catalog of its own, with time enough for a machine on which much else runs."""
    address = f"{kind}://{server.partition('://')[2]}/bench-{uuid.uuid4().hex[:8]}"
    return f"{address}?vectors={vectors}&replicas=0&timeout=600&patience=600"


def compare(catalogs: dict[str, Catalog], requests: Sequence[str]) -> dict[str, Any]:
    """Shares of requests that all engines answer alike, and a few that they do not."""
    alike = same_candidates = 0
    different = []
    for request in requests:
        vector = catalogs["sqlite"].models.queries.vectors((request,))[0]
        asked = SearchRequest(request, vector, CANDIDATES)
        stages = [[place(each) for each in catalog.engine.search(asked)] for catalog in catalogs.values()]
        same_candidates += all(stage == stages[0] for stage in stages)
        tops = {
            name: [hit.document.id for hit in catalog.search(request, 10).hits]
            for name, catalog in catalogs.items()
        }
        if len({tuple(top) for top in tops.values()}) == 1:
            alike += 1
        else:
            different.append({"request": request[:80], **tops})
    return {
        "same_top10": alike / len(requests),
        "same_first_stage": same_candidates / len(requests),
        "different": different[:5],
    }


def compare_dsl(stack: ExitStack, options: argparse.Namespace) -> dict[str, Any]:
    """Part `dsl`."""
    plan = Plan(profiles=("kitpick",), limit=options.limit)
    judged = stack.enter_context(judged_dataset("toolbench", options.data, plan, NullProgress()))
    url = stack.enter_context(node_with_plugin())
    engine = stack.enter_context(closing(open_engine(new_url(url, "opensearch", "hnsw"))))
    copy_catalog(judged.catalog.engine, engine, NullProgress())
    catalog = Catalog(engine, judged.catalog.settings, judged.catalog.models)
    address = f"{url}/{engine.url.rpartition('/')[2].partition('?')[0]}/_search"
    return compare_own_query(catalog, address, [query.text for query in judged.queries])


def compare_routes(stack: ExitStack, options: argparse.Namespace) -> dict[str, Any]:
    """Part `routes`."""
    plan = Plan(profiles=PROFILES, limit=options.limit, timed=0)
    judged = stack.enter_context(judged_dataset("toolbench", options.data, plan, NullProgress()))
    server = stack.enter_context(node("elasticsearch"))
    engine = stack.enter_context(closing(open_engine(new_url(server, "elasticsearch", "hnsw"))))
    assert isinstance(engine, RemoteEngine)
    copy_catalog(judged.catalog.engine, engine, NullProgress())
    measured = measure_routes(judged, engine, plan)
    return {"requests": len(judged.queries), **route_figures(measured)}


def place(candidate: Candidate) -> tuple[object, ...]:
    """Id, ranks and scores of a candidate."""
    rankings = (candidate.lexical, candidate.dense)
    return candidate.id, *(each and (each.rank, round(each.score, 6)) for each in rankings)


def all_columns(catalogs: dict[str, Catalog], requests: Sequence[str]) -> dict[str, Any]:
    """Column generation over each server, and the smaller share."""
    found = {kind: columns(catalogs[kind], catalogs["sqlite"], requests) for kind in SERVERS}
    smallest = {name: min(each[name] for each in found.values()) for name in found[SERVERS[0]]}
    return {**smallest, "columns": found}


def columns(remote: Catalog, original: Catalog, requests: Sequence[str]) -> dict[str, float]:
    """How often column generation over the server chooses what the whole corpus would."""
    keys, matrix = corpus(original.engine)
    decode = next(stage for stage in load_profile("nnn").stages if isinstance(stage, Decode))
    equal = certified = 0
    for request in requests:
        query = original.models.queries.vectors((request,))[0].astype(np.float64)
        exact = solve_active_set(NnnProblem(matrix, query, decode.l1, decode.l2))
        wanted = {keys[row] for row in exact.support}
        try:
            found = solve_by_columns(
                lambda vector, k: [(c.id, c.vector) for c in remote.engine.neighbours(vector, k, Filter())],
                query, decode.l1, decode.l2,
            )  # fmt: skip
        except InvalidProblem:
            continue
        equal += set(found.support) == wanted and found.rounds <= ROUNDS
        certified += bool(np.isfinite(found.solution.certificate.gap))
    return {"columns_equal": equal / len(requests), "columns_certified": certified / len(requests)}


def corpus(engine: Engine) -> tuple[list[str], NDArray[np.float32]]:
    """Ids and vectors (n, d) of the live index."""
    live = engine.live()
    assert live is not None
    stored = list(engine.documents(live[0]))
    return [each.document.id for each in stored], np.stack([each.vector for each in stored])


def ingest(server: str, kind: str, most: int) -> dict[str, Any]:
    """A first sync of many documents, and the same again."""
    with (
        closing(open_engine(new_url(server, kind, "hnsw"))) as engine,
        tempfile.TemporaryDirectory() as locks,
    ):
        options = SyncOptions(locks=Path(locks))
        source = FirstOperations(most)
        first = sync(source, engine, DrawnVectors(), None, options)
        again = sync(source, engine, DrawnVectors(), None, options)
        stats = engine.stats()
        assert stats is not None
        return {
            "documents": stats.documents,
            "written_per_second": round(first.added / first.seconds["write"]),
            "bytes_per_document": round(stats.bytes / max(stats.documents, 1)),
            "seconds": msgspec.to_builtins(first.seconds),
            "again_seconds": again.seconds["total"],
            "again_written": again.added + again.changed,
        }


if __name__ == "__main__":
    main()
