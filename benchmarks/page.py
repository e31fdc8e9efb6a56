"""The explain page's answers over HTTP, and what the models take of their time, over ToolBench's 4,331 APIs.

No score is remembered. What is reported is what a client waits beyond the models' own time, for each profile,
and once with every API of the catalog as a hit.

`--limit N` takes N requests, `--catalog URL` a catalog that is there already.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from serving.process import serving
from shared_data import DATA

from kitpick.catalog import Catalog
from kitpick_evaluation.datasets.published import open_dataset

WARM_UP = 3
WAYS = {
    "hybrid": {"profile": "hybrid", "budget": 2_000},
    "nnn": {"profile": "nnn", "budget": 2_000},
    "kitpick": {"profile": "kitpick", "budget": 2_000},
    "toolrerank": {"profile": "toolrerank", "budget": 2_000},
    "hybrid, all APIs": {"profile": "hybrid", "k": 4_331},
}
Spent = tuple[float, float]
"""Milliseconds that the client waited, and those of the models."""


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--catalog")
    arguments = parser.parse_args()
    dataset = open_dataset("toolbench", arguments.data)
    queries = [query.text for query in dataset.queries]
    asked = queries[:: max(1, len(queries) // arguments.limit)][: arguments.limit]
    with TemporaryDirectory() as folder:
        url = arguments.catalog or f"sqlite:{folder}/toolbench.db"
        if arguments.catalog is None:
            with Catalog.open(url) as catalog:
                catalog.ingest(dataset.source)
        with serving(options=("--ui", "--catalog", url)) as served, httpx2.Client(timeout=120) as client:
            spent = dict(measured(client, f"{served.url}/ui/api/explain", asked))
    report(spent)


def measured(client: httpx2.Client, url: str, asked: Sequence[str]) -> Iterator[tuple[str, list[Spent]]]:
    """Every way with what each request took."""
    for name, call in WAYS.items():
        turns = asked[: WARM_UP + 5] if "all" in name else asked
        yield name, [one(client, url, {"query": query, **call}) for query in turns][WARM_UP:]


def one(client: httpx2.Client, url: str, call: dict[str, object]) -> Spent:
    """One answer."""
    started = time.perf_counter()
    answer = client.post(url, json=call)
    waited = (time.perf_counter() - started) * 1e3
    answer.raise_for_status()
    return waited, answer.json()["spent"]["models"]


def report(spent: dict[str, list[Spent]]) -> None:
    """Medians, and what nineteen of twenty stay below."""
    figures: dict[str, float] = {}
    print("| profile | requests | median ms | models | beyond them | p95 beyond them |")
    print("|---" * 6 + "|")
    for name, pairs in spent.items():
        beyond = sorted(waited - models for waited, models in pairs)
        middle = [statistics.median(column) for column in zip(*pairs, strict=True)]
        typical, slow = statistics.median(beyond), beyond[int(0.95 * (len(beyond) - 1))]
        cells = [*middle, typical, slow]
        print(f"| {name} | {len(pairs)} | {' | '.join(f'{cell:.0f}' for cell in cells)} |")
        figures |= {f"{name}: beyond_ms": round(typical, 1), f"{name}: p95_beyond_ms": round(slow, 1)}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
