"""Real texts for calibration and reference, from data that may be shipped: `openapi` and `bfcl`."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
