"""No test moves the clock of its process: servers that other tests share wait by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
CLOCKS = "time|datetime|asyncio|select|threading"
MOVED = re.compile(
    rf"""setattr\(\s*["'][\w.]+\.({CLOCKS})\.\w+["']"""
    rf"""|setattr\(\s*([\w.]+\.)?({CLOCKS}),\s*["']"""
    rf"""|^\s*([\w.]+\.)?time\.(monotonic|time|sleep|perf_counter)(_ns)?\s*=[^=]""",
    re.MULTILINE,
)
"""A function of such a module replaced; a module's own name for it (`setattr(module, "time", …)`) is not."""


def moved(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        yield from (f"{path.name}: {found[0].strip()}" for found in MOVED.finditer(path.read_text("utf-8")))


def test_no_test_moves_the_clock_of_its_process() -> None:
    """An event loop that saw a later clock for a moment sleeps until then, and its server never ends."""
    assert [found for found in moved(TESTS) if not found.startswith("test_clocks.py")] == []


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr("package.module.time.monotonic", later)',
        'monkeypatch.setattr(module.time, "time", later)',
        'patch.setattr(\n    time, "sleep", nothing)',
        "time.monotonic = later",
    ],
)
def test_it_is_found_where_it_is_done(tmp_path: Path, line: str) -> None:
    (tmp_path / "test_some.py").write_text(f'monkeypatch.setattr(module, "time", clock)\n{line}\n', "utf-8")
    assert len(list(moved(tmp_path))) == 1
