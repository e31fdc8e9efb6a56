"""A folder of demonstrations: the pool, DRetriever and DReranker, as training leaves them."""

from __future__ import annotations

from pathlib import Path

from toolrank_models.runtime import load_cross_encoder, load_encoder
from toolrank_models.settings import RuntimeSettings
from toolrank_rescorers.demorank.pool import InvalidPool, read_pool
from toolrank_rescorers.demorank.selecting import DemonstrationRetriever, DemonstrationSelector

POOL = "pool.jsonl"
RETRIEVER = "retriever"
RERANKER = "reranker"


def open_demonstrations(folder: Path, runtime: RuntimeSettings) -> DemonstrationSelector:
    """The demonstrations of a folder, encoded.

    Raises:
        InvalidPool: there is no pool, or one without texts.
        ModelError: a model is missing, damaged, or cannot run here.
    """
    pool = read_pool(folder / POOL)
    if not all(item.text for item in pool):
        raise InvalidPool(
            f"{folder / POOL}: a demonstration without a text: `toolrank models demorank` writes one"
        )
    retriever = DemonstrationRetriever(pool, load_encoder(folder / RETRIEVER, runtime).encode)
    return DemonstrationSelector(retriever, load_cross_encoder(folder / RERANKER, runtime))
