"""A run of hours that goes on where it was stopped.

`KITPICK_PASSED` names a file. Tests that stand in it are left out, and each test that passes is added to it.
`scripts/test --release` sets it: one file for each commit, so that what passed is of the same code.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "KITPICK_PASSED"


class Resumed:
    """What passed in earlier runs, and what passes in this one."""

    def __init__(self, file: Path, *, adds: bool) -> None:
        self._file = file
        self._adds = adds
        self._passed = set(file.read_text("utf-8").splitlines()) if file.is_file() else set[str]()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if item.nodeid in self._passed]
        items[:] = [item for item in items if item.nodeid not in self._passed]
        if left_out:
            config.hook.pytest_deselected(items=left_out)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._adds and report.when == "call" and report.passed:
            with self._file.open("a", encoding="utf-8") as passed:
                print(report.nodeid, file=passed)


def resume(config: pytest.Config) -> None:
    """Where the variable is set. Of a run on several workers the first process alone writes."""
    file = os.environ.get(VARIABLE)
    if file:
        adds = "PYTEST_XDIST_WORKER" not in os.environ
        config.pluginmanager.register(Resumed(Path(file), adds=adds), "resumed")
