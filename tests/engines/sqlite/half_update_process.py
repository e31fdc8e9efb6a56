"""Run as a process of its own by the tests: replaces half of a catalog, says so, and waits to be killed.

Usage: python half_update_process.py CATALOG NIGHT DOCUMENTS
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from catalogs import document

from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.sqlite import SqliteEngine

WIDE = IndexSchema("m@1", 384, 1)
BATCH = 256


def update(night: int, count: int) -> list[Sequence[IndexedDocument]]:
    """The batches of a full update: every text and every vector is another one than the night before."""
    rng = np.random.default_rng(night)
    vectors = rng.standard_normal((count, WIDE.dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    items = [
        IndexedDocument(document(f"s/t/{number}", description=f"night {night}: " + "w " * 200), vector)
        for number, vector in enumerate(vectors)
    ]
    return [items[start : start + BATCH] for start in range(0, count, BATCH)]


def main(path: str, night: int, count: int) -> None:
    """Half of an update, never committed."""
    batches = update(night, count)
    engine = SqliteEngine(Path(path))
    with engine.writing(engine.ensure(WIDE)) as writer:
        for batch in batches[: len(batches) // 2]:
            writer.write(batch)
        print("half", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
