"""The encoder as a sync uses it, a check of its output, and the vectors of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import IndexSchema, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import TEMPLATE_VERSION, retrieval_text
from kitpick_ingest.embedding_cache import EmbeddingCache, cache_key
from kitpick_ingest.errors import InvalidEmbedding

_NORM_TOLERANCE = 1e-2
"""Loose enough for a quantised encoder, tight enough to tell unit vectors from others."""


class Embedder(Protocol):
    """Turns texts into vectors; `kitpick_models.encoder.Encoder` is one."""

    @property
    def identity(self) -> str:
        """Name and digest of the model: the same identity means the same vectors."""

    @property
    def dimensions(self) -> int:
        """Length d of every vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of float32, shape (n, d), in the order of the texts."""


def schema_of(embedder: Embedder) -> IndexSchema:
    """The index schema of this embedder and the current text templates."""
    return IndexSchema(model=embedder.identity, dimensions=embedder.dimensions, template=TEMPLATE_VERSION)


def encode_checked(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of the texts, shape (n, d).

    Raises:
        InvalidEmbedding: another shape, a value that is not finite, or vectors that are not of length 1.
    """
    vectors = np.asarray(embedder.encode(texts), dtype=np.float32)
    expected = (len(texts), embedder.dimensions)
    if vectors.shape != expected:
        raise InvalidEmbedding(f"{embedder.identity} returned shape {vectors.shape}, expected {expected}")
    if not np.isfinite(vectors).all():
        raise InvalidEmbedding(f"{embedder.identity} returned values that are not finite; verify its files")
    norms = np.linalg.norm(vectors, axis=1)
    if np.abs(norms - 1).max(initial=0) > _NORM_TOLERANCE:
        raise InvalidEmbedding(f"{embedder.identity} returned vectors that are not of length 1")
    return vectors


class DocumentVectors:
    """Computes vectors, and counts texts that were `embedded` and documents taken `from_cache`."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None) -> None:
        self.embedded = 0
        self.from_cache = 0
        self._embedder = embedder
        self._cache = cache

    def of(self, documents: Sequence[ApiDocument]) -> list[Vector]:
        """Unit vectors of float32 (d,), in the order of the documents. Equal texts are embedded once.

        Raises:
            InvalidEmbedding: the embedder returned something else.
        """
        texts = [retrieval_text(document) for document in documents]
        keys = [cache_key(self._embedder.identity, TEMPLATE_VERSION, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        known = self._cache.get(list(wanted), self._embedder.dimensions) if self._cache else {}
        missing = {key: text for key, text in wanted.items() if key not in known}
        self.from_cache += sum(key in known for key in keys)
        known.update(self._embed(missing))
        return [known[key] for key in keys]

    def _embed(self, missing: dict[bytes, str]) -> dict[bytes, Vector]:
        if not missing:
            return {}
        vectors = encode_checked(self._embedder, list(missing.values()))
        self.embedded += len(missing)
        fresh: dict[bytes, Vector] = dict(zip(missing, vectors, strict=True))
        if self._cache:
            self._cache.put(fresh)
        return fresh
