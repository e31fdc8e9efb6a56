"""Texts to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_models.batching import Batch, batches, longest_first, pad
from toolrank_models.manifest import MODEL, TOKENIZER, Manifest, read_file
from toolrank_models.session import Session
from toolrank_models.settings import RuntimeSettings
from toolrank_models.tokens import TokenIds, single


class Encoder:
    """A sentence encoder. Safe to use from several threads.

    On a CPU a text's vector is the same to the last bit alone and in any company.
    """

    def __init__(self, folder: Path, manifest: Manifest, settings: RuntimeSettings) -> None:
        self.manifest = manifest
        self.identity = manifest.identity
        self.dimensions = manifest.dimensions
        self._settings = settings
        self._tokens = TokenIds(read_file(folder, manifest, TOKENIZER), settings.cached_tokens)
        self._session = Session(read_file(folder, manifest, MODEL), manifest.storage, settings)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of texts, float32 (n, dimensions). Text beyond `manifest.max_tokens` is not read."""
        rows = [single(self._tokens, text, self.manifest.max_tokens)[0] for text in texts]
        vectors = np.empty((len(rows), self.dimensions), np.float32)

        def encode_batch(batch: Batch) -> None:
            length, members = batch
            ids, mask = pad([rows[member] for member in members], length)
            vectors[members] = self._session.run((ids, mask, np.zeros_like(ids)))

        lengths = [len(row) for row in rows]
        parts = batches(lengths, self._settings.batch_tokens, self._settings.bucket)
        self._session.workers.map(encode_batch, longest_first(parts))
        return vectors
