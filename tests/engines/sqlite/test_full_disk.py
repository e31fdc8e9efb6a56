"""A disk without room is named, with what is free and the cure, and nothing is changed."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from io import FileIO
from pathlib import Path

import pytest
from asking import generation, mixture
from catalogs import fill, item

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.sqlite import SqliteEngine
from kitpick_foundation.disk import Disk

WORDS = r"the disk of .* is full \([\d,]+ bytes are free\): free some space there, or use a larger disk"


class SmallDisk(Disk):
    """SQLite has room for so many pages, files for so many bytes."""

    def __init__(self, pages: int = 1_000_000, size: int = 1_000_000_000) -> None:
        self._pages, self._left = pages, size

    def connect(self, database: str, busy_seconds: float) -> sqlite3.Connection:
        connection = super().connect(database, busy_seconds)
        connection.execute(f"PRAGMA max_page_count = {self._pages}")
        return connection

    def write(self, file: FileIO, content: bytes | memoryview) -> None:
        super().write(file, memoryview(content).cast("B")[: self._left])
        self._left -= len(memoryview(content).cast("B"))
        if self._left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, generation(1))
    return path


@pytest.mark.parametrize("disk", [SmallDisk(pages=60), SmallDisk(size=1000)], ids=["database", "vectors"])
def test_a_disk_that_is_full_in_a_session_is_named(path: Path, disk: Disk) -> None:
    large = [item(f"s/t/large{number}", description="word " * 2000) for number in range(100)]

    with closing(SqliteEngine(path, disk=disk)) as engine:
        with pytest.raises(EngineUnavailable, match=WORDS):
            fill(engine, large)
        assert mixture(engine) == ""
    with closing(SqliteEngine(path)) as engine:
        fill(engine, generation(2))
        assert mixture(engine) == ""
        assert engine.damaged() == {}
