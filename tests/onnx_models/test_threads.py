"""A container's quota counts, not the machine's processors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kitpick_models.batching import available_cpus, quota_cpus


def quota_v1(folder: Path, quota: str, period: str) -> Path:
    (folder / "cpu").mkdir()
    (folder / "cpu/cpu.cfs_quota_us").write_text(quota)
    (folder / "cpu/cpu.cfs_period_us").write_text(period)
    return folder


@pytest.mark.parametrize(
    ("line", "expected"),
    [("150000 100000\n", 2), ("50000 100000", 1), ("max 100000", None), ("", None), ("1 0", None)],
)
def test_the_unified_quota_is_rounded_up(tmp_path: Path, line: str, expected: int | None):
    (tmp_path / "cpu.max").write_text(line)
    assert quota_cpus(tmp_path) == expected


@pytest.mark.parametrize(("quota", "expected"), [("300000", 3), ("-1", None)])
def test_the_older_quota_is_read_where_there_is_no_unified_one(
    tmp_path: Path, quota: str, expected: int | None
):
    assert quota_cpus(quota_v1(tmp_path, quota, "100000")) == expected


def test_without_a_quota_the_affinity_mask_decides(tmp_path: Path):
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert available_cpus(tmp_path) == allowed


def test_a_quota_below_one_processor_leaves_one_thread(tmp_path: Path):
    (tmp_path / "cpu.max").write_text("1000 100000")
    assert available_cpus(tmp_path) == 1
