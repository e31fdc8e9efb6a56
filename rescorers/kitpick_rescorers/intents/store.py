"""A file of sample requests. Safe to use from several threads and processes."""

from __future__ import annotations

import math
import sqlite3
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Vector
from kitpick_engines.errors import EngineUnavailable
from kitpick_foundation.disk import BUSY_SECONDS, connect_beside, cure, empty_log, use_write_ahead_log
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock
from kitpick_rescorers.intents.stored import DamagedRow, checked, one_of
from kitpick_rescorers.intents.votes import NO_INTENTS, QUORUM, Intents

MAX_PER_CLIENT = 200
"""Choices kept of one client: the oldest make room, so that a flood only drowns its own."""
MAX_PER_TENANT = 20_000
"""Choices kept of all clients of a tenant: one tenant never takes the place of another. Where they are more,
the oldest of the callers that have most make room, see `votes.caller_of`."""
_KEPT_TENANTS = 64
"""Tenants whose samples are held in memory: the last ones that asked."""
_FOREVER = 1e300
"""Later than any time: SQLite has no infinity to be given."""
MAX_REQUEST = 2_000
"""Characters of a sample request that are kept."""
Verdict = Literal["chosen", "failed", "not_needed"]
"""What became of an API that was found: it did the job, it was called and did not, or it had no part."""
TABLES = """
CREATE TABLE IF NOT EXISTS intents (
    request TEXT NOT NULL, api TEXT NOT NULL, client TEXT NOT NULL, at REAL NOT NULL,
    model TEXT NOT NULL, vector BLOB NOT NULL, tenant TEXT NOT NULL DEFAULT '',
    verdict TEXT NOT NULL DEFAULT 'chosen', PRIMARY KEY (tenant, client, request, api)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_client_age ON intents (tenant, client, at);
CREATE INDEX IF NOT EXISTS by_model ON intents (model);
"""
_COLUMNS = "request, api, client, at, model, vector"
"""Those of files from before tenants and verdicts."""
_TEXTS: dict[str, type] = dict.fromkeys(("request", "tenant", "verdict"), str)
_READ = {"api": str, "client": str, "at": float, "vector": bytes} | _TEXTS
_STALE = dict.fromkeys(("request", "api", "client", "tenant"), str)


class Intent(msgspec.Struct, frozen=True):
    """A request, and an API that serves it."""

    request: str
    """What a user wants done, in words."""
    api: str
    """Id of the API's document."""


class Chooser(msgspec.Struct, frozen=True):
    """Who gave feedback on an API."""

    client: str = ""
    """Empty for the operator."""
    tenant: str = ""


OPERATOR = Chooser()


class IntentStore:
    """A SQLite file of samples and choices. It is created with the first write.

    Methods raise `EngineUnavailable` where it cannot be read or written, or holds what kitpick did not write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = fork_lock()
        self._known: OrderedDict[tuple[str, str], tuple[object, Intents]] = OrderedDict()

    def put(
        self,
        intents: Sequence[Intent],
        vectors: Sequence[Vector],
        model: str,
        by: Chooser = OPERATOR,
        verdict: Verdict = "chosen",
    ) -> None:
        """Adds samples or verdicts of a client; the latest of a client on a request and an API counts.

        `vectors` are unit vectors of the requests, one each, by the encoder with the identity `model`.
        """
        now = time.time()
        rows = [
            (each.request[:MAX_REQUEST], each.api, by.client, now, model, _bytes(vector), by.tenant, verdict)
            for each, vector in zip(intents, vectors, strict=True)
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            use_write_ahead_log(connection, BUSY_SECONDS)
            _upgrade(connection)
            connection.executescript(TABLES)
            connection.executemany("INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            if by.client:
                _forget(connection, "tenant = ? AND client = ?", (by.tenant, by.client), MAX_PER_CLIENT)
                _forget(connection, "tenant = ? AND client <> ''", (by.tenant,), MAX_PER_TENANT)

    def remove(self, api: str) -> None:
        """Removes every sample of an API."""
        if self.path.exists():
            with self._connection() as connection:
                connection.execute("DELETE FROM intents WHERE api = ?", (api,))

    def forget(self, tenant: str | None = None, before: float = math.inf) -> int:
        """Removes what clients said, never samples of the operator; how many rows.

        Of one tenant, or of all; only what is older than `before`, seconds since the epoch.
        """
        if not self.path.exists():
            return 0
        with self._connection() as connection:
            _upgrade(connection)
            whose = "client <> '' AND at < ? AND (? IS NULL OR tenant = ?)"
            gone = connection.execute(
                f"DELETE FROM intents WHERE {whose}",  # noqa: S608 - a literal
                (min(before, _FOREVER), tenant, tenant),
            ).rowcount
            connection.commit()
            require_empty_log(connection, self.path)
        return gone

    @FORKS_WAIT
    def of_model(self, model: str, tenant: str = "", dimensions: int | None = None) -> Intents:
        """Samples embedded by this encoder that may have a say for a tenant; read again after a change.

        These are the operator's, what clients without a tenant said, and what those of this tenant said. Rows
        of others are not looked at.

        `dimensions` is the length that the encoder's vectors have; by default any.
        """
        found = self._of_model(model, tenant)
        if dimensions is not None and found.apis and found.vectors.shape[1] != dimensions:
            raise self._damaged()
        return found

    def _of_model(self, model: str, tenant: str) -> Intents:
        key, stamp = (model, tenant), self._stamp()
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0] != stamp:
                known = (stamp, self._read(model, tenant))
            self._known[key] = known
            self._known.move_to_end(key)
            while len(self._known) > _KEPT_TENANTS:
                self._known.popitem(last=False)
            return known[1]

    def stale(self, model: str, limit: int) -> list[tuple[Intent, Chooser]]:
        """Samples embedded by another encoder, with their clients, at most `limit`."""
        if not self.path.exists():
            return []
        with self._connection() as connection:
            query = (
                f"SELECT request, api, client, {_column(connection, 'tenant', '')} FROM intents "  # noqa: S608 - literals
                "WHERE model < ? OR model > ? LIMIT ?"
            )
            found = checked("intents", _STALE, connection.execute(query, (model, model, limit)).fetchall())
        return [(Intent(request, api), Chooser(client, tenant)) for request, api, client, tenant in found]

    def embedded(self, rows: Sequence[tuple[Intent, Chooser]], vectors: Sequence[Vector], model: str) -> None:
        """Replaces the vectors of `stale` rows; their times stay."""
        changes = [
            (_bytes(vector), model, by.tenant, by.client, intent.request, intent.api)
            for (intent, by), vector in zip(rows, vectors, strict=True)
        ]
        whose = "tenant = ? AND client = ? AND request = ? AND api = ?"
        with self._connection() as connection:
            _upgrade(connection)
            connection.executemany(
                f"UPDATE intents SET vector = ?, model = ? WHERE {whose}",  # noqa: S608 - a literal
                changes,
            )

    def _read(self, model: str, tenant: str) -> Intents:
        if not self.path.exists():
            return NO_INTENTS
        with self._connection() as connection:
            parted = _has(connection, "tenant")
            whose, given = ("tenant IN ('', ?) AND model = ?", (tenant,)) if parted else ("model = ?", ())
            own = f"{_column(connection, 'tenant', '')}, {_column(connection, 'verdict', 'chosen')}"
            query = (
                f"SELECT api, client, at, vector, request, {own} "  # noqa: S608 - literals
                f"FROM intents WHERE {whose} ORDER BY request, api, tenant, client"
            )
            rows = checked("intents", _READ, connection.execute(query, (*given, model)).fetchall())
            one_of("intents.verdict", get_args(Verdict), [row[-1] for row in rows])
        if not rows:
            return NO_INTENTS
        apis, clients, times, vectors, *said = zip(*rows, strict=True)
        return Intents(apis, clients, np.array(times), self._vectors(vectors), _covered(rows), *said)

    def _vectors(self, blobs: Sequence[bytes]) -> NDArray[np.float32]:
        """The vectors (n, d); raises `EngineUnavailable` where one is not as it was written."""
        try:
            vectors = np.stack([np.frombuffer(blob, dtype="<f4") for blob in blobs]).astype(np.float32)
        except (ValueError, TypeError) as error:
            raise self._damaged() from error
        if not np.isfinite(vectors).all():
            raise self._damaged()
        return vectors

    def _damaged(self) -> EngineUnavailable:
        return EngineUnavailable(
            f"{self.path}: the vectors of sample requests are damaged: put back a copy, or remove the file"
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
            with FORKS_WAIT, closing(connect_beside(self.path)) as connection, connection:
                connection.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
                yield connection
        except (sqlite3.Error, UnicodeDecodeError, DamagedRow) as error:
            told = f"{self.path}: sample requests: {error}{cure(error, self.path)}"
            raise EngineUnavailable(told) from error


def _covered(rows: Sequence[Sequence[Any]]) -> frozenset[str]:
    """APIs that a sample of the operator names, or that enough clients chose: one alone moves no score."""
    chosen: defaultdict[str, set[str]] = defaultdict(set)
    for api, client, *_, verdict in rows:
        if verdict == "chosen":
            chosen[api].add(client)
    return frozenset(api for api, by in chosen.items() if "" in by or len(by) >= QUORUM)


def require_empty_log(connection: sqlite3.Connection, where: Path | str) -> None:
    """Sees to it that what was removed is in no write-ahead log either.

    Raises:
        EngineUnavailable: another process was reading all the while.
    """
    if not empty_log(connection):
        raise EngineUnavailable(
            f"{where}: what was asked for is removed, but the write-ahead log beside the file still holds "
            "it, because another process reads there without a pause: try again in a moment"
        )


def _forget(connection: sqlite3.Connection, whose: str, given: tuple[str, ...], keep: int) -> None:
    """Removes what clients said beyond so many rows: the oldest of the callers that have most."""
    rows = f"intents WHERE {whose}"  # a literal, as all that stands in these queries
    (count,) = connection.execute(f"SELECT count(*) FROM {rows}", given).fetchone()  # noqa: S608
    if count <= keep:
        return
    key, caller = "tenant, client, request, api", "substr(client, 1, instr(client || '/', '/') - 1)"
    age = f"row_number() OVER (PARTITION BY {caller} ORDER BY at DESC, request) AS age"
    oldest = f"SELECT {key} FROM (SELECT {key}, at, {age} FROM {rows}) ORDER BY age, at DESC, request"  # noqa: S608
    connection.execute(
        f"DELETE FROM intents WHERE ({key}) IN ({oldest} LIMIT -1 OFFSET ?)",  # noqa: S608
        (*given, keep),
    )


def _has(connection: sqlite3.Connection, column: str) -> bool:
    """Whether the table has this column: files from before it are read as they are."""
    found = connection.execute("SELECT 1 FROM pragma_table_info('intents') WHERE name = ?", (column,))
    return found.fetchone() is not None


def _column(connection: sqlite3.Connection, name: str, otherwise: str) -> str:
    """A column; what stands for it in files from before it."""
    return name if _has(connection, name) else f"'{otherwise}' AS {name}"


def _upgrade(connection: sqlite3.Connection) -> None:
    """Brings a file from before tenants and verdicts into the present form; others stay as they are."""
    if not _has(connection, "request") or _has(connection, "tenant"):
        return
    copied = f"INSERT INTO intents ({_COLUMNS}) SELECT {_COLUMNS} FROM intents_before;"  # noqa: S608 - literals
    connection.executescript(
        f"BEGIN IMMEDIATE; ALTER TABLE intents RENAME TO intents_before; {TABLES} {copied} "
        "DROP TABLE intents_before; COMMIT;"
    )


def _bytes(vector: Vector) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()
