"""50 pairs of real tool texts through our cross-encoder runtime and `sentence_transformers.CrossEncoder`.

Both sides have the same weights, the same truncation, two threads, and tokenise everything anew. The repeats
are interleaved and the medians compared, so a busy machine slows both. The parity columns hold our scores
against theirs. The ratio that counts is that of static int8, as models are shipped.

`--weights FOLDER` (a transformers folder, default: the one that training left in `var/`, else the shipped
encoder's weights with a seeded random head), `--data FOLDER`, `--repeats N`.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_ingest.opening import open_source
from kitpick_models.encoders import CrossEncoder
from kitpick_models.manifest import Manifest, Storage
from kitpick_models.runtime import load_cross_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds, pair
from kitpick_models.verify import kendall_tau

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
TRAINED = ROOT / "var" / "train" / "reranker-l6"
QUERY = "I'm planning a trip next week: check the weather there and find a hotel near the conference centre."
PAIRS, AVERAGE, MAX_TOKENS, THREADS = 50, 110, 256, 2
STORAGES: tuple[Storage, ...] = ("fp32", "weight_int8", "static_int8")
Scores = NDArray[np.float32]


def main() -> int:
    """Prints one table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: pip install 'kitpick[train]'", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        weights = arguments.weights or (TRAINED if (TRAINED / "config.json").is_file() else untrained(folder))
        ours = {storage: exported(weights, folder / storage, arguments.data, storage) for storage in STORAGES}
        tokenizer = (weights / "tokenizer.json").read_bytes()
        texts, tokens = tool_texts(arguments.data / "toolbench" / "apis.jsonl", tokenizer)
        compare(ours, theirs(weights), texts, tokens, arguments.repeats)
    return 0


def untrained(folder: Path) -> Path:
    """The shipped encoder's torch weights with a classifier drawn from a fixed seed, as a folder."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from kitpick_training.export.original import pretrained_body

    source = pretrained_body()
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_pretrained(source, num_labels=1).save_pretrained(folder / "torch")
    AutoTokenizer.from_pretrained(source).save_pretrained(folder / "torch")
    return folder / "torch"


def exported(weights: Path, out: Path, data: Path, storage: Storage) -> CrossEncoder:
    """Our runtime over the same weights, with nothing kept between calls."""
    from kitpick_training.export import export_cross_encoder
    from kitpick_training.export.original import read_cross_encoder
    from kitpick_training.export.shipped import sample_pairs

    manifest = Manifest("bench", "cross_encoder", "0", "", "", storage=storage, max_tokens=MAX_TOKENS)
    pairs = sample_pairs(data, 72)
    export_cross_encoder(read_cross_encoder(weights), out, manifest, pairs[:64], pairs[64:])
    return load_cross_encoder(out, RuntimeSettings(threads=THREADS, cached_tokens=0))


def theirs(weights: Path) -> Callable[[Sequence[str]], Scores]:
    """`sentence_transformers.CrossEncoder` over the weights, logits as they are."""
    import sentence_transformers
    import torch

    torch.set_num_threads(THREADS)
    model = sentence_transformers.CrossEncoder(
        str(weights), device="cpu", max_length=MAX_TOKENS, activation_fn=torch.nn.Identity()
    )
    return lambda texts: np.asarray(
        model.predict([(QUERY, text) for text in texts], show_progress_bar=False), np.float32
    ).reshape(-1)


def tool_texts(catalog: Path, tokenizer: bytes) -> tuple[list[str], float]:
    """50 texts spread evenly over the longest that together average 110, and their pairs' average tokens."""
    documents = open_source(f"toolbench:{catalog}", name="toolbench").read()
    texts = [rerank_text(item) for item in documents if isinstance(item, ApiDocument)]
    ids = TokenIds(tokenizer, capacity=0)
    lengths = np.array([len(pair(ids, QUERY, text, MAX_TOKENS)[0]) for text in texts])
    longest = np.argsort(-lengths, kind="stable")
    averages = lengths[longest].cumsum() / np.arange(1, len(lengths) + 1)
    pool = longest[: int((averages >= AVERAGE).sum())]
    rows = pool[np.linspace(0, len(pool) - 1, PAIRS).astype(int)]
    return [texts[row] for row in rows], float(lengths[rows].mean())


def compare(
    ours: dict[Storage, CrossEncoder],
    original: Callable[[Sequence[str]], Scores],
    texts: Sequence[str],
    tokens: float,
    repeats: int,
) -> None:
    """Times all sides in turn and prints the outcome."""
    sides: dict[str, Callable[[], Scores]] = {"sentence-transformers": lambda: original(texts)}
    for storage, model in ours.items():
        sides[storage] = lambda model=model: model.score(QUERY, texts)  # type: ignore[misc]
    scores = {name: run() for name, run in sides.items()}
    report(scores, interleaved(sides, repeats), tokens)


def interleaved(sides: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each side, all of them in turn: a busy machine slows every one."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def report(scores: dict[str, Scores], medians: dict[str, float], tokens: float) -> None:
    """The table and the JSON line."""
    reference, base = scores["sentence-transformers"], medians["sentence-transformers"]
    table = Table(title=f"{PAIRS} pairs of {tokens:.0f} tokens on average, {THREADS} threads")
    for column in ("runtime", "median ms", "times faster", "largest difference", "Kendall's τ"):
        table.add_column(column, justify="left" if column == "runtime" else "right")
    figures: dict[str, Any] = {"sentence_transformers_ms": round(base * 1e3, 1)}
    for name, median in medians.items():
        difference, tau = float(np.abs(scores[name] - reference).max()), kendall_tau(scores[name], reference)
        table.add_row(name, f"{median * 1e3:.0f}", f"{base / median:.2f}", f"{difference:.4f}", f"{tau:.4f}")
        if name != "sentence-transformers":
            row = {"ms": median * 1e3, "ratio": base / median, "difference": difference, "tau": tau}
            figures[name] = {key: round(value, 4) for key, value in row.items()}
    figures["vs_sentence_transformers"] = figures["static_int8"]["ratio"]
    Console().print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
