"""`kill -9` in the middle of a sync, as `benchmarks/kill.py` does it more often."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "kill.py"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.needs("weights", "onnxruntime", "botocore")
def test_a_killed_sync_leaves_a_whole_catalog_and_the_next_one_completes_it() -> None:
    command = [sys.executable, str(BENCHMARK), "--runs", "6", "--rebuild-runs", "3"]

    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert json.loads(output.splitlines()[-1]) == {
        "runs": 6,
        "whole": 6,
        "equal": 6,
        "rebuild_runs": 3,
        "rebuild_whole": 3,
        "rebuild_equal": 3,
    }
