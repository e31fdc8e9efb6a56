"""What sample requests add to the two rankings: MetaTool with samples held apart, ToolBench with silver ones.

MetaTool: of every plugin's requests some become samples, others are asked (600 drawn by chance, the same in
every row). ToolBench dev: samples are the G3 training requests, whose labels were recovered from solution
traces and cover a part of the catalog, so most requests are about APIs without any. Profile `hybrid`.

Enriched: what `kitpick enrich` makes of sentences and requests that a language model wrote about the APIs of
MetaTool and ToolLens and of 500 tools of MCP servers without sight of any requests (`datasets/enriched`),
checked as any answers are. How texts count was chosen on requests of half `a` by a digest of their ids, in
the first two sets; `_b` is of the others.

`--part NAME` (repeatable) takes only `metatool`, `toolbench` or `enriched`; `--limit N` so many requests.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from battery.sets import DataFolders, read_set
from chains import half_of
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_engines.intents.store import Intent
from kitpick_evaluation.dataset import Dataset, JudgedQuery, select
from kitpick_evaluation.datasets.published import judged_requests, open_dataset
from kitpick_evaluation.metrics import score_rankings
from kitpick_evaluation.significance import mean_intervals
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import Completion, Likelihoods, Message, NoLikelihoods
from kitpick_rescorers.llm.writing import question
from kitpick_training.data.split import Split

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


def enriched(data: Path, limit: int) -> Figures:
    """Without enrichment, and with what was written without sight of the requests."""
    figures: Figures = {}
    for name in ("metatool", "toollens", "toucan"):
        dataset = open_toucan(data) if name == "toucan" else open_dataset(name, data)
        asked = select(dataset.queries, limit)
        untouched = np.array([half_of(query.id) == "b" for query in asked])
        table = Table(f"{name}: enrichment", "recall@5, 95 %", "NDCG@5", "recall@5 of half b")
        found = []
        for writer in (None, Writer(WRITTEN / f"{name}.jsonl")):
            values = measured(dataset, [], asked, writer)
            found.append(values)
            half = f"{100 * values[untouched, 0].mean():.1f}"
            table.add_row("none" if writer is None else writer.outcome, *_row(values), half)
        Console().print(table)
        plain, gain = found[0], found[1] - found[0]
        figures |= {
            f"{name}_plain": round(float(plain[:, 0].mean()), 4),
            f"{name}_enriched_lift": round(float(gain[:, 0].mean()), 4),
            f"{name}_enriched_lift_b": round(float(gain[untouched, 0].mean()), 4),
        }
    return figures


def open_toucan(data: Path) -> Dataset:
    """The 500 tools of MCP servers that were written about, and the held-out requests for them alone."""
    about = {json.loads(line)["id"] for line in (WRITTEN / "toucan.jsonl").read_text("utf-8").splitlines()}
    folders = DataFolders(data, (data / "written", WRITTEN.parent / "written"))
    splits: tuple[Split, ...] = ("validation", "test")
    sets = [read_set("written-mcp", folders, split) for split in splits]
    documents = {each.id: each for each in sets[0].documents if f"{each.tool}|{each.api}" in about}
    queries = [
        JudgedQuery(request.id, request.text, request.relevant)
        for each in sets
        for request in each.requests
        if request.relevant <= documents.keys() and not request.also & documents.keys()
    ]
    return Dataset("toucan", Listed("written-mcp", list(documents.values())), tuple(queries))


class Listed(NamedTuple):
    """A source of documents that are there."""

    name: str
    documents: Sequence[ApiDocument]

    def read(self) -> Iterator[ApiDocument]:
        """All of them."""
        yield from self.documents


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
            ending = document.id.rpartition("/")[2]
            names = (ending, document.tool, document.api, f"{document.tool}|{document.api}")
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


def means(
    dataset: Dataset, samples: Sequence[Intent], asked: Sequence[JudgedQuery]
) -> tuple[tuple[float, float], list[str]]:
    """Recall and NDCG at 5, and both as text, over a catalog with these samples."""
    values = measured(dataset, samples, asked)
    recall, ndcg = values.mean(axis=0).tolist()
    return (round(recall, 4), round(ndcg, 4)), _row(values)


def measured(
    dataset: Dataset,
    samples: Sequence[Intent],
    asked: Sequence[JudgedQuery],
    writer: Writer | None = None,
) -> NDArray[np.float64]:
    """Recall and NDCG at 5 of each request (n, 2), over a catalog with these samples."""
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
    return np.array([[scored[query.id][name] for name in ("recall@5", "ndcg@5")] for query in asked])


def _row(values: NDArray[np.float64]) -> list[str]:
    """Mean recall with its interval, and mean NDCG, in per cent."""
    (low, high), _ = mean_intervals([values], seed=0).tolist()
    recall, ndcg = values.mean(axis=0).tolist()
    return [f"{100 * recall:.1f} ({100 * low:.1f}–{100 * high:.1f})", f"{100 * ndcg:.1f}"]


if __name__ == "__main__":
    main()
