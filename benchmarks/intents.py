"""What sample requests add to the two rankings: MetaTool with samples held apart, ToolBench with silver ones.

MetaTool: of every plugin's requests some become samples, others are asked (600 drawn by chance, the same in
every row). ToolBench dev: samples are the G3 training requests, whose labels were recovered from solution
traces and cover a part of the catalog, so most requests are about APIs without any. Profile `hybrid`.

Enriched: what `kitpick enrich` makes of sentences and requests that a language model wrote about the APIs of
MetaTool and ToolLens without sight of their requests (`datasets/enriched`), checked as any answers are.

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
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.settings import Settings
from kitpick_engines.intents.store import Intent
from kitpick_evaluation.dataset import Dataset, JudgedQuery, select
from kitpick_evaluation.datasets.published import judged_requests, open_dataset
from kitpick_evaluation.metrics import score_rankings
from kitpick_evaluation.significance import mean_intervals
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import Completion, Likelihoods, Message, NoLikelihoods
from kitpick_rescorers.llm.writing import question

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PROFILE = "hybrid"
SAMPLES = (0, 1, 5, 20)
"""A plugin, in MetaTool."""
ASKED = 600
PARTS = ("metatool", "toolbench", "enriched")
WRITTEN = Path(__file__).resolve().parents[1] / "datasets" / "enriched"
Figures = dict[str, float]


def main() -> None:
    """Prints two tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--limit", type=int, default=ASKED)
    arguments = parser.parse_args()
    figures: Figures = {}
    for part in arguments.part or PARTS:
        figures |= globals()[part](arguments.data, arguments.limit)
    print(json.dumps(figures))


def metatool(data: Path, limit: int) -> Figures:
    """Requests held out, with more and more samples a plugin."""
    dataset = open_dataset("metatool", data)
    samples, asked = apart(dataset.queries, limit)
    table = Table("MetaTool: samples a plugin", "recall@5, 95 %", "NDCG@5", "samples")
    found: dict[int, tuple[float, float]] = {}
    for most in SAMPLES:
        chosen = [intent for kept in samples.values() for intent in kept[:most]]
        found[most], row = measured(dataset, chosen, asked)
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
        figures, row = measured(dataset, chosen, asked)
        table.add_row(f"{len(chosen):,}", *row, f"{len({intent.api for intent in chosen}):,}")
        found.append(figures)
    Console().print(table)
    (without, _), (recall, _) = found
    return {"toolbench_recall_without": without, "toolbench_lift": round(recall - without, 4)}


def enriched(data: Path, limit: int) -> Figures:
    """Without enrichment, and with what was written without sight of the requests."""
    figures: Figures = {}
    for name in ("metatool", "toollens"):
        dataset = open_dataset(name, data)
        asked = select(dataset.queries, limit)
        table = Table(f"{name}: enrichment", "recall@5, 95 %", "NDCG@5")
        found = []
        for writer in (None, Writer(WRITTEN / f"{name}.jsonl")):
            values, row = measured(dataset, [], asked, writer)
            table.add_row("none" if writer is None else writer.outcome, *row)
            found.append(values[0])
        Console().print(table)
        figures |= {f"{name}_plain": found[0], f"{name}_enriched_lift": round(found[1] - found[0], 4)}
    return figures


class Writer:
    """A language model that answers what was written down before."""

    identity = "datasets/enriched"

    def __init__(self, path: Path) -> None:
        rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
        self._texts = {row["id"]: json.dumps(row) for row in rows}
        self._answers: dict[tuple[Message, ...], str] = {}
        self.outcome = ""

    def enrich(self, catalog: Catalog) -> None:
        """Writes about all APIs of a catalog."""
        index, _ = catalog.live()
        for item in catalog.engine.documents(index):
            document = item.document
            names = (document.id.rpartition("/")[2], document.tool, document.api)
            known = filter(None, map(self._texts.get, names))
            self._answers[question(document)] = next(known, "")
        meter = CallMeter(self, Caps(86_400.0, 1_000_000, 10**12, 1.0, 0))
        report = catalog.enricher().run(meter, self.identity)
        self.outcome = f"{report.outcomes.get('kept', 0)} of {report.asked} APIs, {report.kept} texts kept"

    def complete(
        self, messages: tuple[Message, ...], *, max_tokens: int, schema: dict[str, Any] | None, seconds: float
    ) -> Completion:
        """Implements `LanguageModel`."""
        return Completion(self._answers[messages], 0, 0)

    def likelihoods(
        self, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
    ) -> Likelihoods:
        """Implements `LanguageModel`: nobody asks for them here."""
        raise NoLikelihoods(self.identity)


def measured(
    dataset: Dataset,
    samples: Sequence[Intent],
    asked: Sequence[JudgedQuery],
    writer: Writer | None = None,
) -> tuple[tuple[float, float], list[str]]:
    """Recall and NDCG at 5, and both as text, over a catalog with these samples."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(intents=Path(folder) / "samples", enriched=Path(folder) / "written")
        place = settings.embedding_cache.parent / "evaluation" / f"{dataset.name}.db"
        place.parent.mkdir(parents=True, exist_ok=True)
        with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
            catalog.ingest(dataset.source, progress=progress())
            catalog.add_intents(samples)
            if writer is not None:
                writer.enrich(catalog)
            rankings = {
                query.id: [hit.document.id for hit in catalog.search(query.text, 5, profile=PROFILE).hits]
                for query in asked
            }
    scored = score_rankings(asked, rankings, (5,))
    values = np.array([[scored[query.id][name] for name in ("recall@5", "ndcg@5")] for query in asked])
    (low, high), _ = mean_intervals([values], seed=0).tolist()
    recall, ndcg = values.mean(axis=0).tolist()
    row = [f"{100 * recall:.1f} ({100 * low:.1f}–{100 * high:.1f})", f"{100 * ndcg:.1f}"]
    return (round(recall, 4), round(ndcg, 4)), row


if __name__ == "__main__":
    main()
