"""Texts to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_models.batching import Row, feeds, run_batched
from kitpick_models.manifest import TOKENIZER, Manifest, read_file
from kitpick_models.session import open_session
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds, single_of_ids, singles


class Encoder:
    """A sentence encoder. Safe to use from several threads.

    On a CPU a text's vector is the same to the last bit alone and in any company.
    """

    def __init__(self, folder: Path, manifest: Manifest, settings: RuntimeSettings) -> None:
        self.manifest = manifest
        self.identity = manifest.identity
        self.dimensions = manifest.dimensions
        self.settings = settings
        self.tokens = TokenIds(read_file(folder, manifest, TOKENIZER), settings.cached_tokens)
        self._session = open_session(folder, manifest, settings)
        self.workers = self._session.workers
        self.unmatched_below = manifest.thresholds.get("unmatched")
        """Cosine in [−1, 1] with the nearest text below which a request matches nothing; None: not known."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of texts, float32 (n, dimensions). Text beyond `manifest.max_tokens` is not read."""
        rows = self.rows(texts)
        vectors = np.empty((len(rows), self.dimensions), np.float32)
        run_batched(self.run, rows, vectors, self.settings, self.workers)
        return vectors

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """The texts as the model reads them."""
        return [Row(*found) for found in singles(self.tokens, texts, self.manifest.max_tokens)]

    def row_of_ids(self, ids: Sequence[int]) -> Row:
        """A text that comes as token ids of this model's vocabulary, with or without the special tokens.

        Raises:
            UnknownToken: an id that the vocabulary does not have.
        """
        return Row(*single_of_ids(self.tokens, ids, self.manifest.max_tokens))

    def fits(self, text: str) -> bool:
        """Whether a text is read to its end, rather than cut."""
        return self.tokens.fits(text, self.manifest.max_tokens - 2)

    def run(self, rows: Sequence[Row], length: int) -> NDArray[np.float32]:
        """Vectors (n, dimensions) of rows in one batch, each padded to `length` tokens."""
        return self._session.run(feeds(rows, length))
