"""`kill -9` in the middle of a sync, as `benchmarks/kill.py` does it more often."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sizes import LARGE, sized

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "kill.py"


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.needs("botocore")
def test_a_killed_sync_leaves_a_whole_catalog_and_the_next_one_completes_it() -> None:
    runs, rebuilds = int(sized("KITPICK_KILLS", 5, 50)), int(sized("KITPICK_REBUILD_KILLS", 5, 50))
    command = [sys.executable, str(BENCHMARK), "--runs", str(runs), "--rebuild-runs", str(rebuilds)]
    if not LARGE:
        command.append("--hashed")  # the same writes, and no process waits for a model

    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert json.loads(output.splitlines()[-1]) == {
        "runs": runs,
        "whole": runs,
        "equal": runs,
        "rebuild_runs": rebuilds,
        "rebuild_whole": rebuilds,
        "rebuild_equal": rebuilds,
    }
