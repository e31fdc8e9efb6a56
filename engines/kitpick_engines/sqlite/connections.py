"""Connections to one catalog file: read snapshots from a small pool, one write transaction at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from kitpick_engines.errors import CorruptStore, EngineUnavailable
from kitpick_engines.lexical import prepare
from kitpick_engines.sqlite.tables import StrangeValue, create_catalog, is_catalog, refuse_strange_values
from kitpick_foundation.disk import (
    Disk,
    full_disk,
    has_room,
    is_frozen,
    is_full,
    is_writable,
    use_write_ahead_log,
)
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock

UNREADABLE = (UnicodeDecodeError, msgspec.MsgspecError, StrangeValue)
"""Errors for what is neither the value nor the text nor the JSON that was written."""
REPLACED = "move the file away, and copy a backup to its place or ingest again"
"""The cure for a damaged file."""
_DAMAGE = ("decode to UTF-8", "fts5 table", "fts5 file", "no such table", "no such column")
"""Parts of messages of SQLite that do not call it damage."""
_IDLE = 16
"""Idle connections kept open; more readers at once are served, their connections are closed afterwards."""

_LOG_BYTES = 64 * 1024 * 1024
"""Size to which the log is cut after a large session."""


class _Lent(NamedTuple):
    """A connection for readers."""

    connection: sqlite3.Connection
    frozen: tuple[int, int, int] | None
    """State of the file that was opened as one that does not change; None for any other."""


class ConnectionPool:
    """Opens, checks and lends connections. Safe to use from several threads and after a fork."""

    def __init__(self, path: Path, busy_seconds: float, disk: Disk) -> None:
        self._path = path
        self._disk = disk
        self._busy_seconds = busy_seconds
        self._idle: list[_Lent] = []
        self._inherited: list[_Lent] = []
        """Connections of the parent after a fork: neither used nor closed, hence the references."""
        self._lock = fork_lock()
        self._process = os.getpid()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A read transaction: everything read in it is of one committed state. None where nothing exists yet.

        Raises:
            EngineUnavailable: the file cannot be opened or read, or was written meanwhile where this process
                cannot lock it.
        """
        with translated(self._path):
            lent = self._take()
            if lent is None:
                yield None
                return
            try:
                with damage_named(lent.connection, self._path):
                    yield _begun(lent.connection)
                self._refuse_changed(lent, None)
            except (CorruptStore, sqlite3.DatabaseError) as error:
                self._refuse_changed(lent, error)
                raise
            finally:
                self._give(lent)

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """The write transaction: committed at the end, rolled back on an exception.

        Args:
            create: lays the tables where there is no file yet.

        Raises:
            EngineUnavailable: another writer holds the file too long, it cannot be written, or it does not
                exist and `create` is false.
        """
        with translated(self._path):
            if not create and not self._path.exists():
                raise EngineUnavailable(
                    f"{self._path}: there is no catalog here, or not any more: open it again"
                )
            connection = self._open(write=True)
        try:
            with FORKS_WAIT, translated(self._path):
                connection.execute("BEGIN IMMEDIATE")
                if not is_catalog(connection):
                    create_catalog(connection)
            with damage_named(connection, self._path):
                yield connection
            with FORKS_WAIT, translated(self._path):
                connection.commit()
                _merge_log(connection)
        finally:
            connection.close()

    def close(self) -> None:
        """Closes idle connections; those in use close when they are given back. Leaves no log behind."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        if self._process != os.getpid():
            self._inherited += idle
            return
        for lent in idle:
            lent.connection.close()
        log = self._path.with_name(self._path.name + "-wal")
        if log.exists() and self._path.exists() and is_writable(self._path):
            with suppress(sqlite3.Error, OSError), closing(self._open(write=True)) as connection:
                _merge_log(connection)

    @FORKS_WAIT
    def _take(self) -> _Lent | None:
        with self._lock:
            if self._closed:
                raise EngineUnavailable(f"{self._path}: the engine is closed")
            if self._process != os.getpid():
                self._inherited += self._idle
                self._process, self._idle = os.getpid(), []
            while self._idle:
                lent = self._idle.pop()
                if lent.frozen is None or (is_frozen(self._path) and lent.frozen == self._state()):
                    return lent
                lent.connection.close()
        if not self._path.exists() or self._path.stat().st_size == 0:
            return None
        frozen = self._state() if is_frozen(self._path) else None
        return _Lent(self._open(write=False, frozen=frozen is not None), frozen)

    @FORKS_WAIT
    def _give(self, lent: _Lent) -> None:
        lent.connection.rollback()
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE:
                self._idle.append(lent)
                return
        lent.connection.close()

    @FORKS_WAIT
    def _open(self, write: bool, frozen: bool = False) -> sqlite3.Connection:
        if self._path.is_dir():
            raise EngineUnavailable(f"{self._path}: it is a folder: name the file of a catalog")
        mode = "mode=rwc" if write else "mode=ro&immutable=1" if frozen else "mode=ro"
        connection = self._disk.connect(f"{self._path.absolute().as_uri()}?{mode}", self._busy_seconds)
        try:
            if write:
                use_write_ahead_log(connection, self._busy_seconds)
                # A compaction removes the old matrix after its commit: that commit must survive a power cut.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
            else:
                prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _state(self) -> tuple[int, int, int]:
        """What differs when somebody has written to the file."""
        found = self._path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _refuse_changed(self, lent: _Lent, error: Exception | None) -> None:
        """Refuses what was read of a file without locks while somebody wrote to it."""
        if lent.frozen is not None and lent.frozen != self._state():
            raise EngineUnavailable(
                f"{self._path}: another process wrote to it while it was read, and this one cannot write to "
                "its folder to wait for it: ask again"
            ) from error


@FORKS_WAIT
def _begun(connection: sqlite3.Connection) -> sqlite3.Connection | None:
    """The connection in a read transaction; None where the file is no catalog yet."""
    connection.execute("BEGIN")
    return connection if is_catalog(connection) else None


def _merge_log(connection: sqlite3.Connection) -> None:
    """Moves the log into the file, so that a plain copy of the file holds every commit.

    As far as no reader is in the way, and without waiting for one. A failure loses nothing: what is
    committed is in the log, and the next session or close tries again.
    """
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns errors of SQLite and of the file system into those of this package."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if is_damage(error):
            raise unreadable(path, error) from error
        cure = full_disk(path) if is_full(error) or not has_room(path) else _cure(str(error))
        raise EngineUnavailable(f"{path}: {error}; {cure}") from error
    except sqlite3.DatabaseError as error:
        raise CorruptStore(f"{path}: {error}; {REPLACED}") from error
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    except OSError as error:
        cure = f"; {full_disk(path)}" if is_full(error) else ""
        raise EngineUnavailable(f"{path}: {error.strerror or error}{cure}") from error


def is_damage(error: sqlite3.OperationalError) -> bool:
    """Whether it says that the file holds something else than was written."""
    return any(part in str(error) for part in _DAMAGE)


@contextmanager
def damage_named(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Says that a database is damaged where that explains an error of whoever reads it.

    Rows of a damaged database, or of one that a stranger made, may hold anything, and fail anywhere.
    """
    try:
        yield
    except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        damage = error if isinstance(error, UNREADABLE) else _damage(connection)
        if damage is None:
            raise
        raise unreadable(path, damage) from error


def _damage(connection: sqlite3.Connection) -> Exception | None:
    """What is wrong with a database, None where it is sound."""
    try:
        (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        refuse_strange_values(connection)
    except (sqlite3.Error, *UNREADABLE) as error:
        return error
    return None if problem == "ok" else sqlite3.DatabaseError(problem)


def unreadable(path: Path, error: Exception) -> CorruptStore:
    """The error for rows that hold something else than was written."""
    named = "" if isinstance(error, StrangeValue) else f"{type(error).__name__}: "
    reason = f"{named}{str(error)[:200]}"
    return CorruptStore(f"{path}: what it holds is damaged ({reason}); {REPLACED}")


def _cure(message: str) -> str:
    if "locked" in message or "busy" in message:
        return "another process is writing to the catalog: wait for it to end"
    if "readonly" in message:
        return "the file or its folder is read-only"
    if "no such module" in message:
        return "the SQLite of this Python lacks FTS5: install a Python whose SQLite has it"
    if "unable to open" in message:
        return "does its folder exist, and may this user write to it?"
    return "check the disk and the file's permissions"
