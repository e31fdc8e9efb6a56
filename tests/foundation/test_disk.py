"""Operations on a disk: whole writes, durable names, and words for a disk that is full."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from contextlib import closing
from io import FileIO
from pathlib import Path

import pytest

from kitpick_foundation.disk import DISK, full_disk, is_full, use_write_ahead_log


class Slow(FileIO):
    """Takes three bytes at a time, as a pipe or a signal may have it."""

    def write(self, content: bytes) -> int:
        return super().write(bytes(content[:3]))


def test_all_is_written_however_little_the_system_takes_at_once(tmp_path: Path) -> None:
    with closing(Slow(tmp_path / "file", "w")) as file:
        DISK.write(file, b"0123456789")
        DISK.sync(file)
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_files_are_extended_by_zeros_renamed_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    DISK.make_folder(folder)
    DISK.make_folder(folder)
    with closing(DISK.open(folder / "file", "w+b")) as file:
        DISK.write(file, b"12")
        DISK.truncate(file, 4)
    DISK.replace(folder / "file", folder / "other")
    DISK.sync_folder(folder)
    assert (folder / "other").read_bytes() == b"12\0\0"
    DISK.remove(folder / "other")
    DISK.remove(folder / "other")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["tools.db", "folder"])
def test_a_full_disk_is_named_by_its_folder_with_what_is_free(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    words = full_disk(tmp_path / name)
    assert str(tmp_path) in words
    assert "bytes are free" in words
    assert "free some space" in words


def test_a_folder_that_is_gone_is_named_too(tmp_path: Path) -> None:
    assert "nobody knows" in full_disk(tmp_path / "gone" / "tools.db")


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), True),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), True),
        (OSError(errno.EIO, os.strerror(errno.EIO)), False),
        (sqlite3.OperationalError("database or disk is full"), True),
        (sqlite3.OperationalError("database is locked"), False),
    ],
)
def test_what_means_a_full_disk(error: Exception, full: bool) -> None:
    assert is_full(error) is full


def test_the_write_ahead_log_waits_for_connections_that_write(tmp_path: Path) -> None:
    """SQLite itself refuses the change at once, whatever the connection's time limit."""
    path = tmp_path / "new.db"
    with closing(DISK.connect(str(path), 30.0)) as writer, closing(DISK.connect(str(path), 30.0)) as other:
        writer.execute("CREATE TABLE rows (row)")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO rows VALUES (1)")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            use_write_ahead_log(other, 0.05)
        waiting = threading.Thread(target=use_write_ahead_log, args=(other, 30.0))
        waiting.start()
        writer.execute("COMMIT")
        waiting.join(30)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_is_wrong_for_another_reason_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but a text that is longer than a header" * 50)
    with (
        closing(DISK.connect(str(tmp_path / "text.db"), 30.0)) as connection,
        pytest.raises(sqlite3.DatabaseError, match="not a database"),
    ):
        use_write_ahead_log(connection, 30.0)
