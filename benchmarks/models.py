"""What int8 costs and gains, other runtimes on the same weights, and the query classifier.

Speed: 50 pairs as in `rescoring`, all sides interleaved. Quality: NDCG@5 of the reranked first stage on
ToolBench dev by float32 and by int8. Classifier: the query kinds of the default profile on
ToolBench dev (G1 is single, G2 and G3 are multi), of which nothing was trained on.

`--weights FOLDER`: a transformers folder; by default the seeded random head of `rescoring`, which is good for
speed but not for quality. `--data FOLDER`, `--limit N` requests (default 150), `--repeats N`. FlashRank is
compared where it is installed.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rescoring import DATA, MAX_TOKENS, QUERY, exported, theirs, tool_texts, untrained
from rich.console import Console
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank_engines.text import rerank_text
from toolrank_evaluation.dataset import JudgedQuery, select
from toolrank_evaluation.datasets.opening import open_dataset
from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.manifest import MODEL, Storage
from toolrank_models.tokens import TokenIds, pair
from toolrank_rescorers.profiles import load_profile

Scores = NDArray[np.float32]


def main() -> int:
    """Prints three tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        weights = arguments.weights or untrained(folder)
        forms: tuple[Storage, ...] = ("fp32", "static_int8")
        ours = {form: exported(weights, folder / form, arguments.data, form) for form in forms}
        figures |= speed(ours, weights, folder, arguments.data, arguments.repeats)
        with Catalog.open(f"sqlite:{folder / 'toolbench.db'}") as catalog:
            dataset = open_dataset("toolbench", arguments.data)
            catalog.ingest(dataset.source)
            queries = select(dataset.queries, arguments.limit)
            if arguments.weights:
                figures |= quality(catalog, queries, ours)
            figures |= classifier(catalog, queries)
    print(json.dumps(figures))
    return 0


def speed(
    ours: dict[Storage, CrossEncoder], weights: Path, folder: Path, data: Path, repeats: int
) -> dict[str, float]:
    """Medians of all runtimes on the same 50 pairs."""
    tokenizer = (weights / "tokenizer.json").read_bytes()
    texts, _ = tool_texts(data / "toolbench" / "apis.jsonl", tokenizer)
    original = theirs(weights)
    sides: dict[str, Callable[[], Any]] = {"sentence_transformers": lambda: original(texts)}
    for form, model in ours.items():
        sides[form] = lambda model=model: model.score(QUERY, texts)  # type: ignore[misc]
    flashrank = flash_rank(folder / "fp32", weights, folder)
    if flashrank is not None:
        sides["flashrank"] = lambda: flashrank(texts)
    medians = interleaved(sides, repeats)
    table = Table("runtime", "median ms", "against static int8")
    for name, median in medians.items():
        table.add_row(name, f"{median * 1e3:.0f}", f"{median / medians['static_int8']:.2f}")
    Console().print(table)
    figures = {
        "int8_speedup": medians["fp32"] / medians["static_int8"],
        "vs_sentence_transformers": medians["sentence_transformers"] / medians["static_int8"],
        "int8_operations_per_second": operations(tokenizer, texts) / medians["static_int8"],
    }
    if "flashrank" in medians:
        figures["vs_flashrank"] = medians["flashrank"] / medians["static_int8"]
    return {name: round(value, 4) for name, value in figures.items()}


def interleaved(sides: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each side, all of them in turn: a busy machine slows every one."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for run in sides.values():
        run()
    for _ in range(repeats):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def operations(tokenizer: bytes, texts: Sequence[str]) -> float:
    """Multiplications and additions of the dense layers of a MiniLM-L6 on these pairs, without padding."""
    ids = TokenIds(tokenizer, capacity=0)
    tokens = sum(len(pair(ids, QUERY, text, MAX_TOKENS)[0]) for text in texts)
    return 2.0 * tokens * 6 * (4 * 384 * 384 + 2 * 384 * 1536)


def flash_rank(model: Path, weights: Path, folder: Path) -> Callable[[Sequence[str]], Any] | None:
    """FlashRank over our float32 graph, None where it is not installed. It wants a column of logits."""
    try:
        from flashrank import Ranker, RerankRequest
    except ImportError:
        return None
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    name = "ms-marco-MiniLM-L-12-v2"  # the file names it knows; the weights are ours
    home = folder / "flashrank" / name
    home.mkdir(parents=True)
    graph = onnx.load(model / MODEL)
    logits = graph.graph.output[0].name
    graph.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.int64), "column"))
    graph.graph.node.append(helper.make_node("Unsqueeze", [logits, "column"], ["logits"]))
    graph.graph.output.pop()
    graph.graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1]))
    onnx.save(graph, home / "flashrank-MiniLM-L-12-v2_Q.onnx")
    (home / "tokenizer.json").write_bytes((weights / "tokenizer.json").read_bytes())
    (home / "config.json").write_text('{"pad_token_id": 0}')
    (home / "tokenizer_config.json").write_text('{"model_max_length": 512, "pad_token": "[PAD]"}')
    (home / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')
    ranker = Ranker(name, str(home.parent), max_length=MAX_TOKENS, log_level="ERROR")
    return lambda texts: ranker.rerank(RerankRequest(query=QUERY, passages=[{"text": t} for t in texts]))


def quality(
    catalog: Catalog, queries: Sequence[JudgedQuery], ours: dict[Storage, CrossEncoder]
) -> dict[str, float]:
    """NDCG@5 of the first thirty hybrid candidates, reordered by each form."""
    found: dict[str, list[float]] = {form: [] for form in ours}
    for query in queries:
        documents = [hit.document for hit in catalog.search(query.text, 30, profile="hybrid").hits]
        labels = np.array([document.id in query.relevant for document in documents])
        for form, model in ours.items():
            order = np.argsort(-model.score(query.text, [rerank_text(d) for d in documents]), kind="stable")
            found[form].append(ndcg(labels[order], len(query.relevant)))
    means = {form: 100 * float(np.mean(values)) for form, values in found.items()}
    table = Table("stored as", "NDCG@5, ToolBench dev, 30 candidates")
    for form, mean in means.items():
        table.add_row(form, f"{mean:.2f}")
    Console().print(table)
    return {"int8_ndcg_drop": round(means["fp32"] - means["static_int8"], 4)}


def ndcg(labels: NDArray[np.bool_], relevant: int, k: int = 5) -> float:
    """NDCG@k of ordered labels, of which `relevant` exist in all."""
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    return float(discounts[: len(labels[:k])] @ labels[:k] / discounts[: min(k, relevant)].sum())


def classifier(catalog: Catalog, queries: Sequence[JudgedQuery]) -> dict[str, float]:
    """Accuracy and confusion of the query kinds."""
    profile = load_profile("toolrank")
    counts = {(true, said): 0 for true in ("single", "multi") for said in ("single", "multi")}
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
