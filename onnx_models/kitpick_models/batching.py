"""Rows (texts as a model reads them), and running many of them in batches side by side.

A row's numbers do not depend on the other rows of its batch. The padded length of a row is its own length
rounded up to a bucket, never that of a longer neighbour, and only rows of one bucket share a batch. So every
sum over tokens has the same shape alone and in a batch of 50.

Each batch runs on one thread. A graph of small layers spends more time handing work between threads than it
gains; whole batches need no hand-over, no waiting and no spinning. There are as many threads as this process
may use CPUs: the machine's count is wrong in a container.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import OfThisProcess, renew_after_fork
from kitpick_models.settings import RuntimeSettings

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


def pad(sequences: Sequence[Ids], length: int, padding: int = 0) -> tuple[Ids, Ids]:
    """Token ids and attention mask, int64 (rows, length), padded with the id `padding` on the right."""
    ids = np.full((len(sequences), length), padding, np.int64)
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


def feeds(rows: Sequence[Row], length: int, padding: int = 0) -> tuple[Ids, Ids, Ids]:
    """Token ids, attention mask and token types of rows, each int64 (rows, length)."""
    ids, mask = pad([row.ids for row in rows], length, padding)
    types, _ = pad([row.types for row in rows], length)
    return ids, mask, types


@FORKS_WAIT
def run_batched(
    run: RunRows, rows: Sequence[Row], out: Array, settings: RuntimeSettings, workers: Workers
) -> None:
    """Writes the numbers of every row into its place of `out` (n, …)."""

    def run_batch(batch: Batch) -> None:
        length, members = batch
        out[members] = run([rows[member] for member in members], length)

    parts = batches([len(row.ids) for row in rows], settings.batch_tokens, settings.bucket)
    workers.map(run_batch, longest_first(parts))


_CGROUPS = Path("/sys/fs/cgroup")


def available_cpus(cgroups: Path = _CGROUPS) -> int:
    """CPUs by affinity mask and control-group quota, whichever is less, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, quota_cpus(cgroups) or allowed))


def quota_cpus(cgroups: Path = _CGROUPS) -> int | None:
    """CPUs of the control group's quota (version 2, then 1), rounded up; None without one."""
    unified = _read(cgroups / "cpu.max").split()
    if len(unified) == 2:
        return _ratio(unified[0], unified[1])
    return _ratio(_read(cgroups / "cpu/cpu.cfs_quota_us"), _read(cgroups / "cpu/cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> int | None:
    if not (quota.isdigit() and period.isdigit() and int(period)):
        return None  # "max" and -1 mean no quota
    return math.ceil(int(quota) / int(period))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Workers:
    """Runs a function over items on at most `count` threads. Safe to use from several threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = OfThisProcess(lambda: ThreadPoolExecutor(count, "kitpick-model"))
        self._pool.get()

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The answers in the order of the items; a single item never leaves the caller's thread.

        Raises:
            Exception: the first one that `function` raised.
        """
        if self.count < 2 or len(items) < 2:
            return [function(item) for item in items]
        return list((self._pool.made or self._pool.get()).map(function, items))


_LONGEST_WAIT = 60.0
"""Seconds that the end of the interpreter waits for calls that run."""


class NativeCalls:
    """A context of each call into a library of C++ or Rust. Safe to use from several threads.

    When a program ends, Python ends its daemon threads where they next ask for the interpreter. A thread
    that comes back from such a library is unwound through frames that forbid it, and the process aborts with
    a core dump. So the end waits for the calls that run, and no other begins. Forks wait for them as well.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._ended = False
        renew_after_fork(self)

    def renew(self) -> None:
        """Forgets the calls of other threads; only for the child of a fork."""
        self._changed = threading.Condition()
        self._running = 0

    def __enter__(self) -> None:
        with self._changed:
            if not self._ended or threading.current_thread() is threading.main_thread():
                self._running += 1
                FORKS_WAIT.join()
                return
        threading.Event().wait()  # a daemon thread at the end of the process: there is nothing left to do

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        FORKS_WAIT.leave()
        with self._changed:
            self._running -= 1
            if not self._running:
                self._changed.notify_all()

    def end(self) -> None:
        """Lets no other call of a thread begin, and waits for those that run."""
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: not self._running, _LONGEST_WAIT)


NATIVE = NativeCalls()
"""The calls of this process."""
atexit.register(NATIVE.end)
