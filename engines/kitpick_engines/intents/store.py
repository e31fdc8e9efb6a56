"""A file of sample requests. Safe to use from several threads and processes."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import numpy as np

from kitpick_engines.contract import Vector
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.intents.votes import NO_INTENTS, Intents
from kitpick_foundation.disk import full_disk, is_full

MAX_PER_CLIENT = 200
"""Choices kept of one client: the oldest make room, so that a flood only drowns its own."""
MAX_CHOICES = 100_000
"""Choices kept of all clients together."""
MAX_REQUEST = 2_000
"""Characters of a sample request that are kept."""
TABLES = """
CREATE TABLE IF NOT EXISTS intents (
    request TEXT NOT NULL, api TEXT NOT NULL, client TEXT NOT NULL, at REAL NOT NULL,
    model TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (client, request, api)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_age ON intents (client, at);
"""


class Intent(msgspec.Struct, frozen=True):
    """A request, and an API that serves it."""

    request: str
    api: str
    """Id of the document."""


class IntentStore:
    """A SQLite file of samples and choices. It is created with the first write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._known: tuple[object, Intents] | None = None

    def put(self, intents: Sequence[Intent], vectors: Sequence[Vector], model: str, client: str = "") -> None:
        """Adds samples or choices of a client; known ones get the current time.

        Args:
            intents: the samples.
            vectors: Unit vectors of their requests, one each.
            model: identity of the encoder.
            client: who chose them; empty for the operator.

        Raises:
            EngineUnavailable: the file cannot be written.
        """
        now = time.time()
        rows = [
            (intent.request[:MAX_REQUEST], intent.api, client, now, model, _bytes(vector))
            for intent, vector in zip(intents, vectors, strict=True)
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(TABLES)
            connection.executemany("INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?, ?)", rows)
            if client:
                _forget(connection, "client = ?", (client,), MAX_PER_CLIENT)
                _forget(connection, "client <> ''", (), MAX_CHOICES)

    def remove(self, api: str) -> None:
        """Removes every sample of an API.

        Raises:
            EngineUnavailable: the file cannot be written.
        """
        if self.path.exists():
            with self._connection() as connection:
                connection.execute("DELETE FROM intents WHERE api = ?", (api,))

    def of_model(self, model: str) -> Intents:
        """Samples embedded by this encoder; read again only after the file has changed.

        Raises:
            EngineUnavailable: the file cannot be read.
        """
        key = (model, self._stamp())
        with self._lock:
            if self._known is None or self._known[0] != key:
                self._known = (key, self._read(model))
            return self._known[1]

    def stale(self, model: str, limit: int) -> list[tuple[Intent, str]]:
        """Samples embedded by another encoder, with their clients, at most `limit`.

        Raises:
            EngineUnavailable: the file cannot be read.
        """
        if not self.path.exists():
            return []
        query = "SELECT request, api, client FROM intents WHERE model <> ? ORDER BY at DESC LIMIT ?"
        with self._connection() as connection:
            found = connection.execute(query, (model, limit)).fetchall()
        return [(Intent(request, api), client) for request, api, client in found]

    def embedded(self, rows: Sequence[tuple[Intent, str]], vectors: Sequence[Vector], model: str) -> None:
        """Replaces the vectors of `stale` rows; their times stay.

        Raises:
            EngineUnavailable: the file cannot be written.
        """
        changes = [
            (_bytes(vector), model, client, intent.request, intent.api)
            for (intent, client), vector in zip(rows, vectors, strict=True)
        ]
        change = "UPDATE intents SET vector = ?, model = ? WHERE client = ? AND request = ? AND api = ?"
        with self._connection() as connection:
            connection.executemany(change, changes)

    def _read(self, model: str) -> Intents:
        if not self.path.exists():
            return NO_INTENTS
        query = (
            "SELECT api, client, at, vector, request FROM intents WHERE model = ? "
            "ORDER BY request, api, client"
        )
        with self._connection() as connection:
            rows = connection.execute(query, (model,)).fetchall()
        vectors = [np.frombuffer(row[3], dtype="<f4") for row in rows]
        return Intents(
            tuple(row[0] for row in rows),
            tuple(row[1] for row in rows),
            np.array([row[2] for row in rows]),
            np.stack(vectors).astype(np.float32) if vectors else np.zeros((0, 0), dtype=np.float32),
            frozenset(row[0] for row in rows),
            tuple(row[4] for row in rows),
        )

    def _stamp(self) -> object:
        """A stamp that changes with every write of any process."""
        found = []
        for name in (self.path, self.path.with_name(self.path.name + "-wal")):
            try:
                state = name.stat()
            except OSError:
                continue
            found.append((state.st_mtime_ns, state.st_size, state.st_ino))
        return tuple(found)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=30.0)) as connection, connection:
                yield connection
        except sqlite3.Error as error:
            cure = f"; {full_disk(self.path)}" if is_full(error) else ""
            raise EngineUnavailable(f"{self.path}: sample requests: {error}{cure}") from error


def _forget(connection: sqlite3.Connection, whose: str, given: tuple[str, ...], keep: int) -> None:
    connection.execute(
        f"DELETE FROM intents WHERE (client, request, api) IN (SELECT client, request, api FROM intents "  # noqa: S608 - `whose` is one of two literals
        f"WHERE {whose} ORDER BY at DESC, request LIMIT -1 OFFSET {keep})",
        given,
    )


def _bytes(vector: Vector) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()
