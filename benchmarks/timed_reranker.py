"""The cross-encoder that benchmarks time: its forms, the same weights in torch, and 50 pairs of real texts.

Both sides have the same weights, the same truncation, two threads, and tokenise everything anew.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_ingest.opening import open_source
from kitpick_models.manifest import MANIFEST, MODEL, Manifest, Storage
from kitpick_models.tokens import TokenIds, pair
from kitpick_training.data.records import read_records

QUERY = "I'm planning a trip next week: check the weather there and find a hotel near the conference centre."
PAIRS, AVERAGE, MAX_TOKENS, THREADS = 50, 110, 256, 2
FORMS: tuple[Storage, ...] = ("fp32", "static_int8")
Scores = NDArray[np.float32]


class Forms(NamedTuple):
    """Model folders by form, and the same weights as a transformers folder, for other runtimes."""

    torch: Path
    models: dict[str, Path]


def forms_of(weights: Path | None, folder: Path, data: Path) -> Forms:
    """The forms of a model folder, of a transformers folder, or of random weights.

    Args:
        weights: a model folder keeps its int8 form and its manifest; none: drawn from a seed.
        folder: what is exported is left there, and found there by the next run.
        data: texts for int8 scales.
    """
    if weights is not None and (weights / MANIFEST).is_file():
        torch = _reopened(weights, folder)
        models = {"fp32": folder / "fp32", "static_int8": weights}
    else:
        torch = weights or untrained(folder)
        models = {form: _exported(torch, folder / form, data, form) for form in FORMS}
    return Forms(torch, models)


def _reopened(weights: Path, folder: Path) -> Path:
    """Writes the float32 form under the same manifest, and the torch weights beside it."""
    from kitpick_models.verify import PairReference, read_reference
    from kitpick_training.export import export_cross_encoder
    from kitpick_training.export.original import Original
    from kitpick_training.weights import reopen

    torch = folder / "reopened"
    if (torch / "tokenizer.json").is_file():
        return torch
    opened = reopen(weights)
    reference = read_reference(weights, opened.manifest)
    assert isinstance(reference, PairReference)
    manifest = msgspec.structs.replace(opened.manifest, storage="fp32")
    original = Original(opened.module, opened.tokenizer)
    export_cross_encoder(original, folder / "fp32", manifest, reference.pairs, reference.pairs)
    opened.module.save_pretrained(torch)
    (torch / "tokenizer.json").write_bytes(opened.tokenizer)
    return torch


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


def _exported(weights: Path, out: Path, data: Path, storage: Storage) -> Path:
    """The weights exported in a form, unless an earlier run left it."""
    from kitpick_training.export import export_cross_encoder
    from kitpick_training.export.original import read_cross_encoder

    if not (out / MODEL).is_file():
        manifest = Manifest("bench", "cross_encoder", "0", "", "", storage=storage, max_tokens=MAX_TOKENS)
        pairs = sample_pairs(data, 72)
        export_cross_encoder(read_cross_encoder(weights), out, manifest, pairs[:64], pairs[64:])
    return out


def sample_pairs(data: Path, count: int) -> list[tuple[str, str]]:
    """Pairs (summary, operation), alternately of the same operation and of two different ones.

    Args:
        data: folder that holds `openapi/apis.jsonl.gz`.
        count: how many pairs.
    """
    operations = [row for row in read_records(data / "openapi" / "apis.jsonl.gz") if row["summary"]]
    chance = random.Random(20_240_229)
    chosen, others = chance.sample(operations, count), chance.sample(operations, count)
    return [
        (row["summary"], _text(row if position % 2 else other))
        for position, (row, other) in enumerate(zip(chosen, others, strict=True))
    ]


def _text(row: dict[str, Any]) -> str:
    names = ", ".join(parameter["name"] for parameter in row["parameters"][:24])
    parts = (f"{row['category']}. {row['tool']}. {row['api']}.", row["summary"], row["description"][:1_500])
    return " ".join(part for part in (*parts, f"Parameters: {names}." if names else "") if part)


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


def interleaved(sides: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each side, all of them in turn: a busy machine slows every one."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}
