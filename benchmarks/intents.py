"""What sample requests add to the two rankings: MetaTool with samples held apart, ToolBench with silver ones.

MetaTool: of every plugin's requests some become samples, others are asked (600 drawn by chance, the same in
every row). ToolBench dev: samples are the G3 training requests, whose labels were recovered from solution
traces and cover a part of the catalog, so most requests are about APIs without any. Profile `hybrid`.

Enriched: what `kitpick enrich` adds, by parts, see `enrichment.py`.

`--part NAME` (repeatable) takes only `metatool`, `toolbench` or `enriched`; `--limit N` so many requests.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from enrichment import cells, enriched, opened, ranked
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from shared_data import DATA

from kitpick.cli.progress import progress
from kitpick.settings import Settings
from kitpick_evaluation.dataset import Dataset, JudgedQuery, select
from kitpick_evaluation.datasets.published import judged_requests, open_dataset
from kitpick_rescorers.intents.store import Intent
from kitpick_training.data.records import labelled
from kitpick_training.data.tool_sets import read_metatool

SAMPLES = (0, 1, 5, 20)
"""A plugin, in MetaTool."""
ASKED = 600
Figures = dict[str, float]


def main() -> None:
    """Prints two tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", action="append", choices=list(WAYS))
    parser.add_argument("--limit", type=int, default=ASKED)
    arguments = parser.parse_args()
    figures: Figures = {}
    for part in arguments.part or WAYS:
        figures |= WAYS[part](arguments.data, arguments.limit)
    print(json.dumps(figures))


def metatool(data: Path, limit: int) -> Figures:
    """Requests held out, with more and more samples a plugin."""
    dataset = labelled(read_metatool(data / "metatool"))
    samples, asked = apart(dataset.queries, limit)
    table = Table("MetaTool: samples a plugin", "recall@5, 95 %", "NDCG@5", "samples")
    found: dict[int, tuple[float, float]] = {}
    for most in SAMPLES:
        chosen = [intent for kept in samples.values() for intent in kept[:most]]
        found[most], row = means(dataset, chosen, asked)
        table.add_row(str(most), *row, f"{len(chosen):,}")
    Console().print(table)
    lift = found[SAMPLES[-1]][0] - found[0][0]
    return {"metatool_recall_without": found[0][0], "metatool_lift": round(lift, 4)}


def apart(queries: Sequence[JudgedQuery], limit: int) -> tuple[dict[str, list[Intent]], list[JudgedQuery]]:
    """Samples by API, at most the largest number wanted, and requests that are none of them."""
    shuffled = list(queries)
    random.Random(0).shuffle(shuffled)
    asked, rest = shuffled[:limit], shuffled[limit:]
    texts = {query.text for query in asked}
    samples: defaultdict[str, list[Intent]] = defaultdict(list)
    for query in rest:
        for api in sorted(query.relevant):
            if query.text not in texts and len(samples[api]) < SAMPLES[-1]:
                samples[api].append(Intent(query.text, api))
    return samples, asked


def toolbench(data: Path, limit: int) -> Figures:
    """Without samples, and with those of other requests, which know a part of the catalog."""
    dataset = open_dataset("toolbench", data)
    asked = select(dataset.queries, limit)
    texts = {query.text for query in asked}
    silver = judged_requests(data / "toolbench" / "queries_g3_silver_train.jsonl")
    samples = [
        Intent(query.text, api) for query in silver for api in query.relevant if query.text not in texts
    ]
    table = Table("ToolBench dev: samples", "recall@5, 95 %", "NDCG@5", "APIs with samples")
    found = []
    for chosen in ([], samples):
        figures, row = means(dataset, chosen, asked)
        table.add_row(f"{len(chosen):,}", *row, f"{len({intent.api for intent in chosen}):,}")
        found.append(figures)
    Console().print(table)
    (without, _), (recall, _) = found
    return {"toolbench_recall_without": without, "toolbench_lift": round(recall - without, 4)}


def means(
    dataset: Dataset, samples: Sequence[Intent], asked: Sequence[JudgedQuery]
) -> tuple[tuple[float, float], list[str]]:
    """Recall and NDCG at 5, and both as text, over a catalog with these samples."""
    values = measured(dataset, samples, asked)
    recall, ndcg = values.mean(axis=0).tolist()
    return (round(recall, 4), round(ndcg, 4)), cells(values)


def measured(
    dataset: Dataset, samples: Sequence[Intent], asked: Sequence[JudgedQuery]
) -> NDArray[np.float64]:
    """Recall and NDCG at 5 of each request (n, 2), over a catalog with these samples."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(intents=Path(folder) / "samples", enriched=Path(folder) / "written")
        with opened(dataset, settings) as catalog:
            catalog.ingest(dataset.source, progress=progress())
            catalog.add_intents(samples)
            return ranked(catalog, asked)


WAYS = {"metatool": metatool, "toolbench": toolbench, "enriched": enriched}
"""Parts by name."""

if __name__ == "__main__":
    main()
