"""What a model is run on before anybody asks."""

from __future__ import annotations

import numpy as np

from toolrank_models.batching import padded_length
from toolrank_models.rows import Row


def lengths_up_to(longest: int, bucket: int) -> list[int]:
    """Padded lengths from one bucket on, each twice the one before, and that of the longest row."""
    lengths = [bucket]
    while lengths[-1] < longest:
        lengths.append(min(2 * lengths[-1], padded_length(longest, bucket)))
    return lengths


def full_batch(length: int, budget: int) -> list[Row]:
    """As many rows of this length as a budget of tokens has room for. What they say takes no other time."""
    ids = np.zeros(length, np.int64)
    return [Row(ids, ids)] * max(1, budget // length)
