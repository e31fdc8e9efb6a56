"""Rows: texts as a model reads them, and running many of them in batches side by side.

Batches of token sequences in which a row's numbers do not depend on its company.

The padded length of a row is its own length rounded up to a bucket, never that of a longer neighbour, and
only rows of one bucket share a batch. So every sum over tokens has the same shape alone and in a batch of 50.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitpick_models.settings import RuntimeSettings
from kitpick_models.workers import Workers

Ids = NDArray[np.int64]
Batch = tuple[int, list[int]]
"""The padded length of the rows, and their positions."""


def padded_length(tokens: int, bucket: int) -> int:
    """Tokens rounded up to whole buckets, at least one."""
    return max(1, -(-tokens // bucket)) * bucket


def batches(lengths: Sequence[int], budget: int, bucket: int) -> Iterator[Batch]:
    """Groups rows by padded length, at most `budget` padded tokens each (but at least one row).

    Yields:
        The padded length and the positions of the rows, shortest first; every row once.
    """
    buckets: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        buckets.setdefault(padded_length(length, bucket), []).append(row)
    for padded, rows in sorted(buckets.items()):
        size = max(1, budget // padded)
        for start in range(0, len(rows), size):
            yield padded, rows[start : start + size]


def longest_first(parts: Iterable[Batch]) -> list[Batch]:
    """Batches by padded tokens, descending: side by side, the last ones to run are short."""
    return sorted(parts, key=lambda batch: -batch[0] * len(batch[1]))


def pad(sequences: Sequence[Ids], length: int) -> tuple[Ids, Ids]:
    """Token ids and attention mask, int64 (rows, length), padded with 0 on the right."""
    ids = np.zeros((len(sequences), length), np.int64)
    mask = np.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return ids, mask


Array = NDArray[np.float32]
RunRows = Callable[[Sequence["Row"], int], Array]
"""Numbers (n, …) of rows in one batch, each padded to this number of tokens."""


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
