"""Batches side by side, each on one thread.

A graph of small layers spends more time handing work between threads than it gains; whole batches need no
hand-over, no waiting and no spinning. There are as many threads as this process may use CPUs: the machine's
count is wrong in a container.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

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
        self._pool = ThreadPoolExecutor(count, "kitpick-model") if count > 1 else None

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The answers in the order of the items; a single item never leaves the caller's thread.

        Raises:
            Exception: the first one that `function` raised.
        """
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))
