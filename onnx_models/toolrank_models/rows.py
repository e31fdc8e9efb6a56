"""Rows: texts as a model reads them, and running many of them in batches side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_models.batching import Batch, Ids, batches, longest_first, pad
from toolrank_models.settings import RuntimeSettings
from toolrank_models.workers import Workers

Array = NDArray[np.float32]
RunRows = Callable[[Sequence["Row"], int], Array]
"""Numbers (n, …) of rows in one batch, each padded to so many tokens."""


class Row(NamedTuple):
    """One sequence: token ids and token types, int64 (n,)."""

    ids: Ids
    types: Ids


def feeds(rows: Sequence[Row], length: int) -> tuple[Ids, Ids, Ids]:
    """Token ids, attention mask and token types of rows, each int64 (rows, length)."""
    ids, mask = pad([row.ids for row in rows], length)
    types, _ = pad([row.types for row in rows], length)
    return ids, mask, types


def run_batched(
    run: RunRows, rows: Sequence[Row], out: Array, settings: RuntimeSettings, workers: Workers
) -> None:
    """Writes the numbers of every row into its place of `out` (n, …)."""

    def run_batch(batch: Batch) -> None:
        length, members = batch
        out[members] = run([rows[member] for member in members], length)

    parts = batches([len(row.ids) for row in rows], settings.batch_tokens, settings.bucket)
    workers.map(run_batch, longest_first(parts))
