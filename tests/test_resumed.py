"""`scripts/test --release` takes hours: started again, it goes on with what has not passed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).parent / "harness"
TWO_TESTS = """
def test_right():
    assert 1 + 1 == 2

def test_wrong():
    assert 1 + 1 == 3
"""


def _run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "KITPICK_PASSED": str(folder / "passed.txt"), "PYTHONPATH": str(HARNESS)}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), *arguments]
    ended = subprocess.run(
        [*command, str(folder)], capture_output=True, text=True, env=environment, check=False
    )
    return ended.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize(("workers", "second"), [("-n0", "1 failed, 1 deselected"), ("-n2", "1 failed in")])
def test_what_passed_is_left_out_and_what_failed_is_tried_again(
    tmp_path: Path, workers: str, second: str
) -> None:
    hook = "from resumed import resume\n\ndef pytest_configure(config):\n    resume(config)\n"
    (tmp_path / "conftest.py").write_text(hook)
    (tmp_path / "test_two.py").write_text(TWO_TESTS)

    assert _run(tmp_path, workers).startswith("1 failed, 1 passed")
    assert (tmp_path / "passed.txt").read_text() == "test_two.py::test_right\n"
    assert _run(tmp_path, workers).startswith(second)
