"""Choosing demonstrations: a bi-encoder retrieves some, a cross-encoder picks one after the other.

Both read short forms of a question and of demonstrations. A folder holds what training leaves: the pool,
DRetriever and DReranker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.demorank.pool import Demonstration, InvalidPool, read_pool

_CHARACTERS = 120
"""Characters of a request and of an API: a question and three demonstrations fit into 256 tokens."""


def question_text(query: str, text: str) -> str:
    """A request and the text of an API."""
    return f"{_short(query)} | {_short(text)}"


def demonstration_text(item: Demonstration) -> str:
    """A question that is answered."""
    return f"{question_text(item.query, item.text)} | {'Yes' if item.useful else 'No'}"


def question_after(query: str, text: str, chosen: Sequence[Demonstration]) -> str:
    """A question and the demonstrations that were chosen for it so far, in that order."""
    return " || ".join([question_text(query, text), *map(demonstration_text, chosen)])


def _short(text: str) -> str:
    return " ".join(text[: 4 * _CHARACTERS].split())[:_CHARACTERS]


Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class PairScorer(Protocol):
    """A cross-encoder."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text; higher is better."""


class DemonstrationRetriever:
    """DRetriever over a pool: the demonstrations whose vectors are nearest to a question's.

    Args:
        pool: demonstrations with their texts.
        encode: unit vectors of texts, float32 (n, d).
    """

    def __init__(self, pool: Sequence[Demonstration], encode: Encode) -> None:
        self.pool = pool
        self.texts = [demonstration_text(item) for item in pool]
        self._encode = encode
        self._vectors = encode(self.texts)

    def retrieve(self, query: str, text: str, count: int) -> list[int]:
        """Numbers of the demonstrations nearest to a question; equal ones in the order of the pool."""
        cosines = self._vectors @ self._encode([question_text(query, text)])[0]
        nearest: list[int] = np.argsort(-cosines, kind="stable")[:count].tolist()
        return nearest


class DemonstrationSelector:
    """DRetriever and DReranker over a pool. Safe to use from several threads.

    Args:
        retriever: proposes demonstrations.
        reranker: says how much one of them helps, given those that were chosen before it.
    """

    def __init__(self, retriever: DemonstrationRetriever, reranker: PairScorer) -> None:
        self._retriever, self._reranker = retriever, reranker

    def choose(self, query: str, text: str, shots: int, retrieved: int) -> list[Demonstration]:
        """`shots` demonstrations for a question, each chosen with regard to those before it.

        Args:
            query: the request.
            text: of the API that it is asked about.
            shots: how many, at most.
            retrieved: how many of the pool are looked at.
        """
        near = self._retriever.retrieve(query, text, retrieved)
        return [self._retriever.pool[place] for place in self.rerank(query, text, near, shots)]

    def rerank(self, query: str, text: str, near: Sequence[int], shots: int) -> list[int]:
        """The best `shots` of these numbers of the pool, one after the other."""
        chosen: list[int] = []
        rest = list(near)
        while rest and len(chosen) < shots:
            asked = question_after(query, text, [self._retriever.pool[place] for place in chosen])
            scores = self._reranker.score(asked, [self._retriever.texts[place] for place in rest])
            chosen.append(rest.pop(int(np.argmax(scores))))
        return chosen


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
            f"{folder / POOL}: a demonstration without a text: `kitpick models demorank` writes one"
        )
    retriever = DemonstrationRetriever(pool, load_encoder(folder / RETRIEVER, runtime).encode)
    return DemonstrationSelector(retriever, load_cross_encoder(folder / RERANKER, runtime))
