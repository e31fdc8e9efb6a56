"""How deep to rerank: recall@5 against the number m of reranked candidates, for seen and for unseen tools.

The figure behind adaptive truncation (ToolRerank reranks 10 candidates of seen tools and 50 of unseen ones),
drawn from the shipped cross-encoder. Requests are composed from operations of the OpenAPI directory: of
providers it was trained on, with a seed that no training used, and of providers that were held out whole;
both are asked of one catalog. `alone`: ordered by the cross-encoder; `blended`: as the default profile does.

`--data FOLDER`, `--requests N` of each kind (default 150), `--documents N` in the catalog (default 4,000).
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kitpick.catalog import Catalog
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_models.encoders import CrossEncoder
from kitpick_models.runtime import load_cross_encoder
from kitpick_training.data.prepared import PreparedCatalog
from kitpick_training.data.ranking_lists import DEFAULT_MIXTURE, draw_ask
from kitpick_training.data.readers import read_openapi
from kitpick_training.data.sources import HOLDOUT
from kitpick_training.data.split import Split, take_split

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DEPTHS = (5, 10, 20, 30, 40, 50)
SEED = "truncation"
Request = tuple[str, frozenset[str]]
Orders = dict[str, NDArray[np.float64]]


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--requests", type=int, default=150)
    parser.add_argument("--documents", type=int, default=4_000)
    arguments = parser.parse_args()
    requests, documents = drawn(arguments.data, arguments.requests, arguments.documents)
    scorer = load_cross_encoder()
    figures: dict[str, float] = {}
    table = Table("tools", "order", "first stage", *(f"m = {m}" for m in DEPTHS), title="recall@5, %")
    with tempfile.TemporaryDirectory() as scratch, Catalog.open(f"sqlite:{scratch}/all.db") as catalog:
        catalog.ingest(Documents(documents))
        for kind, asked in requests.items():
            first, found = recall_by_depth(catalog, scorer, asked)
            for order, values in found.items():
                row = dict(zip(DEPTHS, values.tolist(), strict=True))
                table.add_row(kind, order, f"{100 * first:.1f}", *(f"{100 * v:.1f}" for v in row.values()))
                figures |= {f"{kind}.{order}.{m}": round(value, 4) for m, value in row.items()}
            figures[f"{kind}.first_stage"] = round(first, 4)
    Console(width=120).print(table)
    print(json.dumps(figures))


class Documents:
    """Documents as a source."""

    name = "openapi"

    def __init__(self, documents: Sequence[ApiDocument]) -> None:
        self._documents = documents

    def read(self) -> Iterator[ApiDocument]:
        """Every document."""
        yield from self._documents


def drawn(data: Path, count: int, size: int) -> tuple[dict[str, list[Request]], list[ApiDocument]]:
    """Requests about seen and about unseen tools, and a catalog that answers them all."""
    everything = read_openapi(data / "openapi" / "apis.jsonl.gz")
    splits: dict[str, Split] = {"seen": "train", "unseen": "validation"}
    requests: dict[str, list[Request]] = {}
    wanted: set[str] = set()
    for kind, split in splits.items():
        part = take_split(everything, split, HOLDOUT)
        prepared = PreparedCatalog(part, np.zeros((len(part.requests), 1), np.int32))
        rng = random.Random(f"{SEED}/{kind}")
        asks = [draw_ask(prepared, DEFAULT_MIXTURE, rng) for _ in range(count)]
        requests[kind] = [
            (ask.text, frozenset(prepared.documents[i].id for i in ask.relevant)) for ask in asks
        ]
        # Whole tools, so that siblings compete; both kinds get the same share of the catalog.
        chosen = {id_ for _, right in requests[kind] for id_ in right}
        tools = {part.documents[id_].tool_key for id_ in chosen}
        siblings = [d.id for d in part.documents.values() if d.tool_key in tools and d.id not in chosen]
        wanted |= chosen | set(rng.sample(siblings, max(0, min(len(siblings), size // 2 - len(chosen)))))
    return requests, [everything.documents[id_] for id_ in sorted(wanted)]


def recall_by_depth(
    catalog: Catalog, scorer: CrossEncoder, requests: Sequence[Request]
) -> tuple[float, Orders]:
    """Recall@5 of the first stage, and of reordering its first m, by each way of ordering."""
    first: list[float] = []
    found: dict[str, list[list[float]]] = {"alone": [], "blended": []}
    for text, right in requests:
        documents = [hit.document for hit in catalog.search(text, max(DEPTHS), profile="hybrid").hits]
        labels = np.array([document.id in right for document in documents])
        logits = scorer.score(text, [rerank_text(document) for document in documents])
        first.append(labels[:5].sum() / len(right))
        for order, values in found.items():
            values.append([recall(labels[:m], logits[:m], len(right), order) for m in DEPTHS])
    return float(np.mean(first)), {order: np.mean(values, axis=0) for order, values in found.items()}


def recall(labels: NDArray[np.bool_], logits: NDArray[np.float32], right: int, order: str) -> float:
    """Recall@5 of m candidates in first-stage order, by their logits or by these and their ranks."""
    scores = logits.astype(np.float64)
    if order == "blended":
        scores = (scores - scores.mean()) / max(scores.std(), 1e-9) - np.log(np.arange(1, len(scores) + 1))
    return float(labels[np.argsort(-scores, kind="stable")[:5]].sum() / right)


if __name__ == "__main__":
    main()
