"""What int8 costs and gains, other runtimes on the same weights, and the query classifier.

Speed: 50 pairs of real texts, all sides interleaved; beside it what the processor can do at all. Quality:
NDCG@5 of the reranked first stage by float32 and by int8, on ToolBench dev and ToolLens test.
Classifier: the query kinds of the default profile on ToolBench dev (G1 is single, G2 and G3 are multi), of
which nothing was trained on.

`--weights FOLDER`: a model folder or a transformers folder; by default the shipped encoder's weights with a
seeded random head, which is good for speed but not for quality.
`--data FOLDER`, `--limit N` requests (default 150), `--repeats N`, `--only PART` (repeatable: speed, quality,
classifier). `--keep FOLDER`: exported forms are left there, and found there by the next run. FlashRank and
OpenVINO are compared where they are installed.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from runtimes import arithmetic_limit, flash_rank, open_vino
from shared_data import DATA
from timed_reranker import (
    MAX_TOKENS,
    QUERY,
    THREADS,
    Forms,
    forms_of,
    interleaved,
    sample_pairs,
    theirs,
    tool_texts,
)

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.text import rerank_text
from kitpick_evaluation.dataset import JudgedQuery, select
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_models.encoders import CrossEncoder
from kitpick_models.runtime import load_cross_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds, pair
from kitpick_rescorers.profiles import load_profile

PARTS = ["speed", "quality", "classifier"]
_WIDTH, _UNITS = 384, 1536
"""Of a MiniLM."""


def main() -> int:
    """Prints three tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", action="append", choices=PARTS)
    arguments = parser.parse_args()
    parts = arguments.only or PARTS
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        forms = forms_of(arguments.weights, folder, arguments.data)
        if "speed" in parts:
            figures |= speed(forms, folder, arguments.data, arguments.repeats)
        if "quality" in parts and arguments.weights:
            figures |= quality(forms.models, folder, arguments.data, arguments.limit)
        if "classifier" in parts:
            figures |= classifier(folder, arguments.data, arguments.limit)
    print(json.dumps(figures))
    return 0


def speed(forms: Forms, folder: Path, data: Path, repeats: int) -> dict[str, float]:
    """Medians of all runtimes on the same 50 pairs."""
    weights, ours = forms.torch, loaded(forms.models)
    tokenizer = (weights / "tokenizer.json").read_bytes()
    texts, _ = tool_texts(data / "toolbench" / "apis.jsonl", tokenizer)
    original = theirs(weights)
    sides: dict[str, Callable[[], Any]] = {"sentence_transformers": lambda: original(texts)}
    for form, model in ours.items():
        sides[form] = lambda model=model: model.score(QUERY, texts)  # type: ignore[misc]
    others = {
        "flashrank": flash_rank(forms.models["fp32"], weights, folder),
        "openvino": open_vino(weights, sample_pairs(data, 128), folder),
    }
    for name, run in others.items():
        if run is not None:
            sides[name] = lambda run=run: run(texts)  # type: ignore[misc]
    for run in sides.values():  # the first call of each is no measurement
        run()
    medians = interleaved(sides, repeats)
    limit = arithmetic_limit()
    done = operations(tokenizer, texts)
    table = Table("runtime", "median ms", "against static int8", "G operations/s in dense layers")
    for name, median in medians.items():
        rate = done / median
        ratio = f"{median / medians['static_int8']:.2f}"
        table.add_row(name, f"{median * 1e3:.0f}", ratio, f"{rate / 1e9:.0f}")
    for name, rate in limit.items():
        table.add_row(f"one large product, {name}", f"{1e3 * done / rate:.0f}", "", f"{rate / 1e9:.0f}")
    Console(width=110).print(table)
    quick = medians["static_int8"]
    figures = {
        "int8_speedup": medians["fp32"] / quick,
        "int8_share_of_limit": done / quick / limit["int8"],
        **{f"vs_{name}": medians[name] / quick for name in medians if name not in ours},
    }
    return {name: round(value, 4) for name, value in figures.items()}


def operations(tokenizer: bytes, texts: Sequence[str]) -> float:
    """Multiplications and additions of the dense layers of a MiniLM-L6 on these pairs, without padding."""
    ids = TokenIds(tokenizer, capacity=0)
    tokens = sum(len(pair(ids, QUERY, text, MAX_TOKENS)[0]) for text in texts)
    return tokens * 6 * 2.0 * (4 * _WIDTH * _WIDTH + 2 * _WIDTH * _UNITS)


def loaded(models: Mapping[str, Path]) -> dict[str, CrossEncoder]:
    """The models on two threads, with nothing kept between calls."""
    settings = RuntimeSettings(threads=THREADS, cached_tokens=0)
    return {name: load_cross_encoder(folder, settings) for name, folder in models.items()}


def quality(models: Mapping[str, Path], folder: Path, data: Path, limit: int) -> dict[str, float]:
    """NDCG@5 by each form on each benchmark: of thirty reordered candidates, and in the default profile."""
    ours = loaded(models)
    table = Table("NDCG@5", "", *ours)
    alone: dict[str, list[float]] = {form: [] for form in ours}
    inside: dict[str, list[float]] = {form: [] for form in ours}
    for name in ("toolbench", "toollens"):
        with opened(name, folder, data, limit) as (catalog, queries):
            means = reordered(catalog, queries, ours)
        whole = {form: in_profile(name, folder, queries, model) for form, model in models.items()}
        for label, drops, found in (("30 candidates", alone, means), ("default profile", inside, whole)):
            table.add_row(name, label, *(f"{mean:.2f}" for mean in found.values()))
            for form, mean in found.items():
                drops[form].append(found["fp32"] - mean)
    Console().print(table)
    figures = {"int8_ndcg_drop": max(alone["static_int8"]), "int8_profile_drop": max(inside["static_int8"])}
    return {name: round(value, 4) for name, value in figures.items()}


def in_profile(name: str, folder: Path, queries: Sequence[JudgedQuery], model: Path) -> float:
    """Mean NDCG@5 of the default profile with this cross-encoder, in percent."""
    settings = Settings(cross_encoder=str(model))
    with Catalog.open(f"sqlite:{folder / name}.db", settings=settings) as catalog:
        found = [
            ndcg(
                np.array([hit.document.id in query.relevant for hit in catalog.search(query.text, 5).hits]),
                len(query.relevant),
            )
            for query in queries
        ]
    return 100 * float(np.mean(found))


def reordered(
    catalog: Catalog, queries: Sequence[JudgedQuery], ours: dict[str, CrossEncoder]
) -> dict[str, float]:
    """Mean NDCG@5 of each form, in percent."""
    found: dict[str, list[float]] = {form: [] for form in ours}
    for query in queries:
        documents = [hit.document for hit in catalog.search(query.text, 30, profile="hybrid").hits]
        labels = np.array([document.id in query.relevant for document in documents])
        for form, model in ours.items():
            order = np.argsort(-model.score(query.text, [rerank_text(d) for d in documents]), kind="stable")
            found[form].append(ndcg(labels[order], len(query.relevant)))
    return {form: 100 * float(np.mean(values)) for form, values in found.items()}


@contextmanager
def opened(
    name: str, folder: Path, data: Path, limit: int
) -> Iterator[tuple[Catalog, Sequence[JudgedQuery]]]:
    """A dataset in a catalog of its own, and some of its requests."""
    dataset = open_dataset(name, data)
    with Catalog.open(f"sqlite:{folder / name}.db") as catalog:
        catalog.ingest(dataset.source)
        yield catalog, select(dataset.queries, limit)


def ndcg(labels: NDArray[np.bool_], relevant: int, k: int = 5) -> float:
    """NDCG@k of ordered labels, of which `relevant` exist in all."""
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    return float(discounts[: len(labels[:k])] @ labels[:k] / discounts[: min(k, relevant)].sum())


def classifier(folder: Path, data: Path, limit: int) -> dict[str, float]:
    """Accuracy and confusion of the query kinds."""
    profile = load_profile("kitpick")
    counts = {(true, said): 0 for true in ("single", "multi") for said in ("single", "multi")}
    with opened("toolbench", folder, data, limit) as (catalog, queries):
        for query in queries:
            kind = catalog.search(query.text, 5, profile=profile).query_kind
            true = "single" if query.subset.startswith("G1") else "multi"
            counts[true, kind.kind if kind else "single"] += 1
    table = Table("ToolBench dev", "said single", "said multi")
    for true in ("single", "multi"):
        table.add_row(f"is {true}", str(counts[true, "single"]), str(counts[true, "multi"]))
    Console().print(table)
    right = counts["single", "single"] + counts["multi", "multi"]
    return {"classifier_accuracy": round(right / max(1, len(queries)), 4)}


if __name__ == "__main__":
    sys.exit(main())
