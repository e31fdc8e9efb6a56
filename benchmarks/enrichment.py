"""What written texts add to the two rankings of three catalogs, and which part of them adds it.

Texts are a sentence and three to five sample requests for each API, which a language model wrote from the
definitions of MetaTool (199 APIs), ToolLens (464) and 500 tools of MCP servers (`toucan`), without sight of
any requests (`datasets/enriched`). `kitpick enrich` checks and keeps them as it does any answers. How they
count was chosen on requests of half `a` by a digest of their ids; `_b` is of the others. Profile `hybrid`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from battery.sets import DataFolders, read_set
from msgspec.structs import replace
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from shared_data import DATASETS, Listed, half_of

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.settings import Settings
from kitpick_evaluation.dataset import Dataset, JudgedQuery, select
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_evaluation.metrics import score_rankings
from kitpick_evaluation.significance import mean_intervals
from kitpick_rescorers.intents.written import EQUAL, Enrichment, Nearness, WrittenStore
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import Completion, Message
from kitpick_rescorers.llm.writing import question
from kitpick_training.data.records import labelled
from kitpick_training.data.split import Split
from kitpick_training.data.tool_sets import read_metatool

WRITTEN = DATASETS / "enriched"
PROFILE = "hybrid"
Figures = dict[str, float]


class Part(NamedTuple):
    """A part of what was written."""

    name: str
    sentence: bool
    requests: bool
    weights: Nearness = EQUAL


PARTS = (
    Part("none", sentence=False, requests=False),
    Part("sentences", sentence=True, requests=False),
    Part("requests", sentence=False, requests=True),
    Part("requests, by words", False, True, Nearness(1.0, 0.0, 0.0)),
    Part("requests, by the nearest vector", False, True, Nearness(0.0, 1.0, 0.0)),
    Part("requests, by their mean vector", False, True, Nearness(0.0, 0.0, 1.0)),
    Part("all", sentence=True, requests=True),
)
"""The first and the last are the comparison: without enrichment, and with it as it ships."""


def enriched(data: Path, limit: int) -> Figures:
    """Recall at 5 of `limit` requests of each catalog, without enrichment, with each part, and with all."""
    figures: Figures = {}
    for name, read in DATASETS.items():
        dataset = read(data)
        asked = select(dataset.queries, limit)
        writer = Writer(WRITTEN / f"{name}.jsonl")
        values = of_parts(dataset, asked, writer)
        untouched = np.array([half_of(query.id) == "b" for query in asked])
        Console().print(f"{name}: {writer.outcome}", _table(name, values, untouched))
        figures |= gains(name, values, untouched)
    return figures


def gains(name: str, values: dict[str, NDArray[np.float64]], untouched: NDArray[np.bool_]) -> Figures:
    """Points of recall at 5 that all parts together gain over none, and those of each part."""
    plain = values["none"]
    gained = {part: 100 * (rows - plain)[:, 0] for part, rows in values.items() if part != "none"}
    figures = {
        f"enrich_gain_{name}": gained["all"].mean(),
        f"enrich_gain_{name}_b": gained["all"][untouched].mean(),
    }
    figures |= {f"enrich_{name}_{part}": gain.mean() for part, gain in gained.items() if part != "all"}
    return {key: round(float(value), 2) for key, value in figures.items()}


def _table(name: str, values: dict[str, NDArray[np.float64]], untouched: NDArray[np.bool_]) -> Table:
    table = Table(f"{name}: counted", "recall@5, 95 %", "NDCG@5", "recall@5 of half b")
    for part, rows in values.items():
        table.add_row(part, *cells(rows), f"{100 * rows[untouched, 0].mean():.1f}")
    return table


def of_parts(
    dataset: Dataset, asked: Sequence[JudgedQuery], writer: Writer
) -> dict[str, NDArray[np.float64]]:
    """Recall and NDCG at 5 of each request (n, 2), by part of what was written."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(intents=Path(folder) / "none", enriched=Path(folder) / "everything")
        catalog = opened(dataset, settings)
        with catalog:
            catalog.ingest(dataset.source, progress=progress())
            writer.enrich(catalog)
            views = {part.name: _view(catalog, part, Path(folder) / part.name) for part in PARTS}
            return {name: ranked(view, asked) for name, view in views.items()}


def _view(catalog: Catalog, part: Part, place: Path) -> Catalog:
    """The same catalog with a part of what was written about it."""
    view = Catalog(catalog.engine, replace(catalog.settings, enriched=place), catalog.models)
    view.intents.votes.weights = part.weights
    store, encoder = WrittenStore(place), catalog.models.queries
    for entry in catalog.enricher().store.entries().values():
        kept = tuple(text for text in entry.kept if is_of(part, entry, text))
        if kept:
            store.put(replace(entry, kept=kept), encoder.vectors(kept), encoder.identity)
    return view


def is_of(part: Part, entry: Enrichment, text: str) -> bool:
    """Whether a text belongs to a part."""
    return part.sentence if text == entry.sentence else part.requests


def opened(dataset: Dataset, settings: Settings) -> Catalog:
    """The catalog of a dataset, in the folder of catalogs that evaluations share."""
    place = settings.embedding_cache.parent / "evaluation" / f"{dataset.name}.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    return Catalog.open(f"sqlite:{place}", settings=settings)


def ranked(catalog: Catalog, asked: Sequence[JudgedQuery]) -> NDArray[np.float64]:
    """Recall and NDCG at 5 of each request (n, 2)."""
    rankings = {
        query.id: [hit.document.id for hit in catalog.search(query.text, 5, profile=PROFILE).hits]
        for query in asked
    }
    scored = score_rankings(asked, rankings, (5,))
    return np.array([[scored[query.id][name] for name in ("recall@5", "ndcg@5")] for query in asked])


def cells(values: NDArray[np.float64]) -> list[str]:
    """Mean recall with its interval, and mean NDCG, in per cent."""
    (low, high), _ = mean_intervals([values], seed=0).tolist()
    recall, ndcg = values.mean(axis=0).tolist()
    return [f"{100 * recall:.1f} ({100 * low:.1f}–{100 * high:.1f})", f"{100 * ndcg:.1f}"]


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


DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "metatool": lambda data: labelled(read_metatool(data / "metatool")),
    "toollens": lambda data: open_dataset("toollens", data),
    "toucan": open_toucan,
}


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
