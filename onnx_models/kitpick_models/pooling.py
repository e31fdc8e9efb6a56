"""One unit vector of a text out of the vectors of its tokens, for graphs that leave this to their caller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kitpick_models.batching import Ids
from kitpick_models.errors import NotFinite
from kitpick_models.manifest import Pooling

Array = NDArray[np.float32]


def pooled(answer: Array, mask: Ids, pooling: Pooling) -> Array:
    """Unit vectors, float32 (n, d).

    Args:
        answer: of the graph: vectors of tokens (n, tokens, d), or with `none` those of texts (n, d).
        mask: 1 where there is a token, int64 (n, tokens).
        pooling: how the vectors of tokens become one.

    Raises:
        NotFinite: a vector without a length has no direction.
    """
    vectors = _unscaled(answer.astype(np.float32, copy=False), mask, pooling)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not lengths.all():
        raise NotFinite("an encoder answered a vector of zeros: its pooling is not the one it learned with")
    unit: Array = vectors / lengths
    return unit


def _unscaled(answer: Array, mask: Ids, pooling: Pooling) -> Array:
    """Vectors of texts of any length; that of a sum is as good as that of a mean."""
    vectors: Array = answer
    present = mask[:, :, None] > 0
    if pooling == "cls":
        vectors = answer[:, 0]
    elif pooling == "last":
        vectors = answer[np.arange(len(answer)), mask.sum(axis=1) - 1]
    elif pooling == "max":
        vectors = np.where(present, answer, -np.inf).max(axis=1)
    elif pooling == "mean":
        vectors = np.where(present, answer, 0).sum(axis=1)
    return vectors
