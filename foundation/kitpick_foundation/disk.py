"""Operations that change files, and the message for a full disk.

Every store receives a `Disk` and changes files through it alone. Tests pass a `Disk` whose operations fail
one after the other, and check the files that remain.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from io import FileIO
from pathlib import Path
from typing import Literal

BUSY_SECONDS = 30.0
"""How long a connection waits for others that write, where no setting says otherwise."""

_LEAST_BYTES = 64 * 1024


class Disk:
    """The file system of this machine. Every method raises `OSError`, `connect` also `sqlite3.Error`."""

    def connect(self, database: str, busy_seconds: float) -> sqlite3.Connection:
        """A connection to a database (a path or a `file:` URI), for any thread.

        Transactions begin and end where the caller says so.
        """
        return sqlite3.connect(
            database, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )

    def open(self, file: Path, mode: Literal["rb", "r+b", "w+b"]) -> FileIO:
        """Opens a file without a buffer, so that a failure belongs to the write that caused it."""
        return FileIO(file, mode.replace("b", ""))

    def write(self, file: FileIO, content: bytes | memoryview) -> None:
        """Writes all of it."""
        left = memoryview(content).cast("B")
        while left:
            left = left[file.write(left) :]

    def truncate(self, file: FileIO, size: int) -> None:
        """Cuts a file, or extends it by zeros, to `size` bytes."""
        file.truncate(size)

    def sync(self, file: FileIO) -> None:
        """Makes the content of a file durable."""
        os.fsync(file.fileno())

    def sync_folder(self, folder: Path) -> None:
        """Makes the names in a folder durable."""
        if os.name != "posix":  # elsewhere a folder cannot be opened, and needs no sync
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def make_folder(self, folder: Path) -> None:
        """Makes a folder and those above it, where they are missing."""
        folder.mkdir(parents=True, exist_ok=True)

    def replace(self, file: Path, name: Path) -> None:
        """Gives a file another name, which may be taken; both are on one disk."""
        file.replace(name)

    def remove(self, file: Path) -> None:
        """Removes a file; one that is missing is no error."""
        file.unlink(missing_ok=True)


DISK = Disk()
"""The disk of every caller that names no other."""


def is_full(error: Exception) -> bool:
    """Whether an error of SQLite or of the file system means a full disk."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return "disk is full" in str(error)


def has_room(path: Path) -> bool:
    """Whether the least that SQLite needs fits beside a file: the shared memory of readers."""
    try:
        return shutil.disk_usage(path.parent).free >= _LEAST_BYTES
    except OSError:
        return True


def is_writable(path: Path) -> bool:
    """Whether this process may make files beside a file."""
    effective = os.access in os.supports_effective_ids
    return os.access(path.absolute().parent, os.W_OK, effective_ids=effective)


def is_frozen(path: Path) -> bool:
    """Whether a database lies where this process cannot write, as in a container image or on a full disk.

    Readers of a database with a log (WAL) must be able to create shared memory beside it. Where they cannot,
    and there is nothing in the log, it is opened as one that does not change (`immutable=1`). Somebody else
    may write to it later: such a connection is used again only while the file is what it was.
    """
    if is_writable(path) and has_room(path):
        return False
    try:
        return path.with_name(path.name + "-wal").stat().st_size == 0
    except OSError:
        return True


def connect_beside(path: Path) -> sqlite3.Connection:
    """A connection to a small database that lies beside a catalog; only for reading where it is frozen."""
    frozen = "?immutable=1" if is_frozen(path) else ""
    return sqlite3.connect(f"{path.absolute().as_uri()}{frozen}", uri=True, timeout=BUSY_SECONDS)


def cure(error: Exception, path: Path) -> str:
    """The end of a message: what to do about an error of a file; empty where nobody knows."""
    if is_full(error) or not has_room(path):
        return f"; {full_disk(path)}"
    refused = "readonly" in str(error) or "unable to open" in str(error)
    return "; its folder is read-only for this user" if refused and not is_writable(path) else ""


def use_write_ahead_log(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Lets others read while one connection writes.

    The change to this mode does not wait for other connections as statements do: SQLite refuses it at once.
    So it is tried again for `busy_seconds`.

    Raises:
        sqlite3.Error: it does not succeed in this time, or for another reason.
    """
    limit = time.monotonic() + busy_seconds
    while not _changed_mode(connection, time.monotonic() > limit):
        time.sleep(0.01)


def empty_log(connection: sqlite3.Connection) -> bool:
    """Moves the write-ahead log into its file and cuts it to nothing: what was removed is in neither.

    Waits for readers as long as the connection waits for locks; false where one of them was in the way.
    """
    blocked, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not blocked


def _changed_mode(connection: sqlite3.Connection, last: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if last or "locked" not in str(error):  # SQLITE_BUSY; its number is known from Python 3.11 on
            raise
        return False
    return True


def full_disk(path: Path) -> str:
    """The message for a full disk: which one, how much is free, the cure."""
    folder = path if path.is_dir() else path.parent
    try:
        free = f"{shutil.disk_usage(folder).free:,} bytes are free"
    except OSError:
        free = "nobody knows how much is free"
    return f"the disk of {folder} is full ({free}): free some space there, or use a larger disk"
