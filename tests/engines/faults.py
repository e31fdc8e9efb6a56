"""A disk that fails at one operation: reports an error, or stops the process there."""

from __future__ import annotations

import errno
import os
import sqlite3
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from kitpick_foundation.disk import Disk

How = Literal["error", "crash"]
_CHANGES = frozenset(
    {
        "BEGIN",
        "COMMIT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "CREATE",
        "DROP",
        "SAVEPOINT",
        "RELEASE",
        "PRAGMA",
        "ATTACH",
    }
)


class Crash(BaseException):
    """The process ends here: whatever it still does to the disk raises this again."""


class FaultyDisk(Disk):
    """Counts the operations, and fails at the one of a number; at none for 0.

    An error is that of a full disk, or every other time one of the device. Of a write, half is done.
    Nothing is made durable: that takes most of the time, and no test here cuts the power.
    """

    def __init__(self, fail_at: int = 0, how: How = "error") -> None:
        self.operations: list[str] = []
        self._fail_at = fail_at
        self._how = how
        self._crashed = False

    @property
    def failed(self) -> str:
        """The operation that failed, empty for none."""
        return self.operations[self._fail_at - 1] if 0 < self._fail_at <= len(self.operations) else ""

    @property
    def is_full(self) -> bool:
        return self._fail_at % 2 == 0

    def fails(self, operation: str) -> bool:
        """Counts an operation: whether it is to report an error.

        Raises:
            Crash: the process ends before it.
        """
        if self._crashed:
            raise Crash
        self.operations.append(operation)
        if len(self.operations) != self._fail_at:
            return False
        self._crashed = self._how == "crash"
        return True

    def stop(self, error: Exception) -> None:
        raise Crash(self.failed) if self._crashed else error

    def _step(self, operation: str) -> None:
        if self.fails(operation):
            self.stop(self._error())

    def _error(self) -> OSError:
        code = errno.ENOSPC if self.is_full else errno.EIO
        return OSError(code, os.strerror(code))

    def connect(self, database: str, busy_seconds: float) -> sqlite3.Connection:
        if self.fails(f"connect {database.rpartition('/')[2]}"):
            self.stop(sqlite3.OperationalError("unable to open database file"))
        connection = sqlite3.connect(
            database,
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            factory=FaultyConnection,
        )
        connection.disk = self
        return connection

    def open(self, file: Path, mode: Any) -> FileIO:
        self._step(f"open {file.name}")
        return super().open(file, mode)

    def write(self, file: FileIO, content: bytes | memoryview) -> None:
        if self.fails("write"):
            half = memoryview(content).cast("B")
            super().write(file, half[: len(half) // 2])
            self.stop(self._error())
        super().write(file, content)

    def truncate(self, file: FileIO, size: int) -> None:
        self._step("truncate")
        super().truncate(file, size)

    def sync(self, file: FileIO) -> None:
        self._step("sync")

    def sync_folder(self, folder: Path) -> None:
        self._step("sync_folder")

    def make_folder(self, folder: Path) -> None:
        self._step("make_folder")
        super().make_folder(folder)

    def replace(self, file: Path, name: Path) -> None:
        self._step(f"replace {name.name}")
        super().replace(file, name)

    def remove(self, file: Path) -> None:
        self._step(f"remove {file.name}")
        super().remove(file)


class FaultyConnection(sqlite3.Connection):
    """What changes a database is an operation of the disk. A full disk ends the transaction."""

    disk: FaultyDisk | None = None

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        words = statement.split()
        reads = words[:1] == ["PRAGMA"] and "=" not in words and "(" not in statement
        if words[:1] and words[0].upper() in _CHANGES and not reads:
            self._step(" ".join(statement.split())[:60])
        return super().execute(statement.replace("synchronous = FULL", "synchronous = OFF"), *values)

    def executemany(self, statement: str, *values: Any) -> sqlite3.Cursor:
        self._step(" ".join(statement.split())[:60])
        return super().executemany(statement, *values)

    def commit(self) -> None:
        self._step("commit")
        super().commit()

    def _step(self, operation: str) -> None:
        if self.disk is None or not self.disk.fails(operation):
            return
        if self.disk.is_full and self.in_transaction:
            self.rollback()
        self.disk.stop(
            sqlite3.OperationalError("database or disk is full" if self.disk.is_full else "disk I/O error")
        )
