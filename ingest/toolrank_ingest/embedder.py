"""What sync needs of an encoder, and the check that it keeps its word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import IndexSchema
from toolrank_engines.text import TEMPLATE_VERSION
from toolrank_ingest.errors import InvalidEmbedding

_NORM_TOLERANCE = 1e-2
"""Loose enough for a quantised encoder, tight enough to tell unit vectors from others."""


class Embedder(Protocol):
    """Turns texts into vectors; `toolrank_models.Encoder` is one."""

    @property
    def identity(self) -> str:
        """Name and digest of the model: the same identity means the same vectors."""

    @property
    def dimensions(self) -> int:
        """Length d of every vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of float32, shape (n, d), in the order of the texts."""


def schema_of(embedder: Embedder) -> IndexSchema:
    """The index schema that this embedder and the text templates in use ask for."""
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
