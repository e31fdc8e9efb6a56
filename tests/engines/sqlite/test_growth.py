"""A full update every night, killed half-way: the catalog does not grow with the number of nights."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from children import importing
from half_update_process import WIDE, update

from kitpick_engines.contract import Filter, IndexedDocument
from kitpick_engines.sqlite import SqliteEngine

DOCUMENTS = 1_024
NIGHTS = 3


def size(path: Path) -> int:
    """Bytes of the catalog: the file, its vectors, and logs that a killed process left."""
    return sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file())


def finish(path: Path, batches: list[Sequence[IndexedDocument]]) -> None:
    with closing(SqliteEngine(path)) as engine, engine.writing(engine.ensure(WIDE)) as writer:
        for batch in batches:
            writer.write(batch)


def die_half_way(path: Path, night: int) -> None:
    script = Path(__file__).with_name("half_update_process.py")
    command = [sys.executable, str(script), str(path), str(night), str(DOCUMENTS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=importing())
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_nights_that_are_killed_half_way_leave_no_more_than_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    finish(path, update(0, DOCUMENTS))
    fresh = size(path)
    nights = []
    for night in range(1, NIGHTS + 1):
        die_half_way(path, night)
        nights.append(size(path))
    assert max(nights) < 3 * fresh
    assert nights[-1] < 1.1 * nights[0], "no night adds to the one before"
    finish(path, update(NIGHTS + 1, DOCUMENTS))
    assert size(path) < 2.5 * fresh
    with closing(SqliteEngine(path)) as engine:
        assert engine.stats().documents == DOCUMENTS  # type: ignore[union-attr]
        (found,) = engine.fetch(["s/t/1"], Filter())
        assert found.description.startswith(f"night {NIGHTS + 1}")


@pytest.mark.slow
def test_updates_that_end_well_are_made_room_for(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    finish(path, update(0, DOCUMENTS))
    fresh, sizes = size(path), []
    for night in range(1, NIGHTS + 1):
        finish(path, update(night, DOCUMENTS))
        sizes.append(size(path))
    assert max(sizes) < 2.5 * fresh
