"""Relevance of texts to a query, read together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_models.batching import batches, pad
from toolrank_models.manifest import MODEL, TOKENIZER, Manifest, read_file
from toolrank_models.session import Session
from toolrank_models.settings import RuntimeSettings
from toolrank_models.tokens import Ids, TokenIds


class CrossEncoder:
    """A cross-encoder. Safe to use from several threads.

    On a CPU a pair's score is the same to the last bit alone and in any company.
    """

    def __init__(self, folder: Path, manifest: Manifest, settings: RuntimeSettings) -> None:
        self.manifest = manifest
        self.identity = manifest.identity
        self._settings = settings
        self._tokens = TokenIds(read_file(folder, manifest, TOKENIZER), settings.cached_tokens)
        self._session = Session(read_file(folder, manifest, MODEL), manifest.storage, settings)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits of the pairs (query, text), float32 (n,).

        A query may fill half of `manifest.max_tokens`; the text gets what the query leaves and is cut there.
        """
        room = self.manifest.max_tokens - 3
        first = self._tokens.of(query, room // 2)
        rows = [self._tokens.of(text, room)[: room - len(first)] for text in texts]
        head = np.concatenate(([self._tokens.start], first, [self._tokens.separator]))
        scores = np.empty(len(rows), np.float32)
        lengths = [len(head) + len(row) + 1 for row in rows]
        for length, members in batches(lengths, self._settings.batch_tokens, self._settings.bucket):
            scores[members] = self._run(head, [rows[member] for member in members], length)
        return scores

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated relevance in (0, 1): sigmoid(logit / temperature), float32 of the same shape."""
        return sigmoid(logits / self.manifest.temperature)

    def _run(self, head: Ids, rows: Sequence[Ids], length: int) -> NDArray[np.float32]:
        pairs = [np.concatenate((head, row, [self._tokens.separator])) for row in rows]
        ids, mask = pad(pairs, length)
        types = mask.copy()
        types[:, : len(head)] = 0
        return self._session.run((ids, mask, types)).reshape(-1)


def sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 / (1 + exp(−x)) without overflow, float32 of the same shape."""
    return (0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, np.float64)))).astype(np.float32)
