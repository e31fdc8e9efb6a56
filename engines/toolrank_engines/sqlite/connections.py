"""Connections to one catalog file: read snapshots from a small pool, one write transaction at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolrank_engines.errors import CorruptStore, EngineUnavailable
from toolrank_engines.lexical.words import prepare
from toolrank_engines.sqlite.tables import create_catalog, is_catalog

_IDLE = 16
"""Idle connections kept open; more readers at once are served, their connections are closed afterwards."""

_LOG_BYTES = 64 * 1024 * 1024
"""What the log keeps of its size after a large session."""


class Connections:
    """Opens, checks and lends connections. Safe to use from several threads and after a fork."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._idle: list[sqlite3.Connection] = []
        self._inherited: list[sqlite3.Connection] = []
        """Those of the parent after a fork: neither to be used nor, by losing the last reference, closed."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A read transaction: everything read in it is of one committed state. None where nothing exists yet.

        Raises:
            EngineUnavailable: the file cannot be opened or read.
        """
        with translated(self._path):
            connection = self._take()
            if connection is None:
                yield None
                return
            try:
                connection.execute("BEGIN")
                yield connection if is_catalog(connection) else None
            finally:
                self._give(connection)

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """The write transaction: committed at the end, rolled back on an exception.

        Raises:
            EngineUnavailable: another writer holds the file too long, it cannot be written, or it does not
                exist and `create` is false.
        """
        with translated(self._path):
            if not create and not self._path.exists():
                raise EngineUnavailable(f"{self._path}: no catalog here yet; call ensure() first")
            connection = self._open(write=True)
        try:
            with translated(self._path):
                connection.execute("BEGIN IMMEDIATE")
                if not is_catalog(connection):
                    create_catalog(connection)
            yield connection
            with translated(self._path):
                connection.commit()
        finally:
            connection.close()

    def close(self) -> None:
        """Closes idle connections; those in use close when they are given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> sqlite3.Connection | None:
        with self._lock:
            if self._closed:
                raise EngineUnavailable(f"{self._path}: the engine is closed")
            if self._process != os.getpid():
                self._inherited += self._idle
                self._process, self._idle = os.getpid(), []
            if self._idle:
                return self._idle.pop()
        if not self._path.exists() or self._path.stat().st_size == 0:
            return None
        return self._open(write=False)

    def _give(self, connection: sqlite3.Connection) -> None:
        connection.rollback()
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _open(self, write: bool) -> sqlite3.Connection:
        mode = "mode=rwc" if write else "mode=ro"
        if not write and self._is_frozen():
            mode += "&immutable=1"
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            if write:
                connection.execute("PRAGMA journal_mode = WAL")
                # A compaction removes the old matrix after its commit: that commit must survive a power cut.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
            else:
                prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_frozen(self) -> bool:
        """Whether the catalog lies in a folder this process cannot write to, as in a container image.

        Readers of a database with a log (WAL) must be able to create shared memory beside it. Where they
        cannot, and there is no log of somebody who writes, the file is taken as one that does not change.
        """
        effective = os.access in os.supports_effective_ids
        writable = os.access(self._path.absolute().parent, os.W_OK, effective_ids=effective)
        return not writable and not self._path.with_name(self._path.name + "-wal").exists()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns errors of SQLite and of the file system into those of this part."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise EngineUnavailable(f"{path}: {error}; {_cure(str(error))}") from error
    except sqlite3.DatabaseError as error:
        raise CorruptStore(f"{path}: {error}; move the file away and ingest again") from error
    except OSError as error:
        raise EngineUnavailable(f"{path}: {error.strerror or error}") from error


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
