"""Remembers answers and the feedback on them, so that feedback needs only the id of an answer."""

from __future__ import annotations

import math
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, get_args

import msgspec

from kitpick_engines.errors import EngineUnavailable
from kitpick_foundation.disk import BUSY_SECONDS, cure, use_write_ahead_log
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock, renew_after_fork
from kitpick_rescorers.intents.store import Verdict, require_empty_log
from kitpick_rescorers.intents.stored import DamagedRow, checked, decoded, one_of

MAX_IN_MEMORY = 1_000
"""Answers that a process remembers without a file: the latest."""
MAX_IN_FILE = 100_000
MAX_SHOWN = 100
"""APIs of an answer that are remembered: the first."""
MAX_REQUEST = 2_000
"""Characters of a request that are remembered."""
_DAY = 86_400.0
_FOREVER = 1e300
_SALT_BYTES = 32
_SAID = {"api": str, "client": str, "verdict": str, "at": float}
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, at REAL NOT NULL, answer BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at);
CREATE TABLE IF NOT EXISTS verdicts (
    answer TEXT NOT NULL, client TEXT NOT NULL, api TEXT NOT NULL, verdict TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (answer, client, api)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secret (one INTEGER PRIMARY KEY CHECK (one = 1), salt BLOB NOT NULL);
"""


class RememberedAnswer(msgspec.Struct, frozen=True):
    """What somebody was shown for a request."""

    request: str
    tenant: str
    principals: tuple[str, ...]
    """Principals of whoever asked, in order."""
    profile: str
    shown: tuple[str, ...]
    """Ids of the APIs, best first."""

    @property
    def id(self) -> str:
        """`named` without a salt: for answers that no log remembers."""
        return self.named(b"")

    def named(self, salt: bytes) -> str:
        """`answer-` and 24 hex digits: the same for the same answer to the same people, under one salt.

        Without the salt nobody can guess it: who could would learn what others asked.
        """
        return f"answer-{blake2b(msgspec.json.encode(self), digest_size=12, key=salt).hexdigest()}"


JOINT = "+"
"""Joins the ids of answers that were given together."""
_ID = re.compile(r"answer-[0-9a-f]{24}(?:\+answer-[0-9a-f]{24}){0,19}")


def answer_ids(text: str) -> tuple[str, ...]:
    """The ids that a text consists of, joined by `+`; none where it is a request in words."""
    return tuple(text.split(JOINT)) if _ID.fullmatch(text) else ()


class JudgedAnswer(msgspec.Struct, frozen=True):
    """An API of an answer, and what a client said became of it."""

    answer: RememberedAnswer
    api: str
    client: str
    verdict: Verdict
    at: float
    """When it was said, seconds since the epoch."""

    @property
    def rank(self) -> int:
        """Where it was shown, from 1."""
        return self.answer.shown.index(self.api) + 1


class AnswerLog:
    """A SQLite file of answers, or the memory of this process. Safe to use from several threads.

    Requests are in it in plain text. What is older than `days` is removed as others come. Where they are too
    many, those of the tenants that have most go first: nobody's flood pushes out what others were answered.

    Methods raise `EngineUnavailable` where the file cannot be read or written.
    """

    def __init__(self, path: Path | None = None, days: float = 90.0) -> None:
        """`path` is the file; without one, the last `MAX_IN_MEMORY` answers are kept in memory."""
        self.path = path
        self._days = days
        self._most = MAX_IN_MEMORY if path is None else MAX_IN_FILE
        self._lock = fork_lock()
        self._opened: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection] = []
        """Connections of the parent after a fork: neither used nor closed, hence the references."""
        self._writes = 0
        renew_after_fork(self)

    def renew(self) -> None:
        """Opens the file anew when it is next needed; only for the child of a fork."""
        self._inherited += [] if self._opened is None else [self._opened]
        self._opened = None

    def remember(self, answer: RememberedAnswer) -> str:
        """The id under which feedback can name this answer from now on."""
        short = msgspec.structs.replace(
            answer, request=answer.request[:MAX_REQUEST], shown=answer.shown[:MAX_SHOWN]
        )
        with self._connection() as connection:
            name = short.named(_salt(connection))
            connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                (name, short.tenant, time.time(), msgspec.json.encode(short)),
            )
            self._writes += 1
            if self._writes % 100 == 1:
                _tidy(connection, time.time() - self._days * _DAY, self._most)
        return name

    def find(self, answer_id: str, tenant: str) -> RememberedAnswer | None:
        """The answer of this id, None where this tenant was given none."""
        with self._connection() as connection:
            row = connection.execute(
                "SELECT answer FROM answers WHERE id = ? AND tenant = ?", (answer_id, tenant)
            ).fetchone()
            return None if row is None else decoded("answers.answer", row[0], RememberedAnswer)

    def judge(self, answer_id: str, apis: Iterable[str], client: str, verdict: Verdict, at: float) -> None:
        """Stores what became of APIs, in seconds since the epoch; the latest of a client counts."""
        rows = [(answer_id, client, api, verdict, at) for api in apis]
        with self._connection() as connection:
            connection.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?)", rows)

    def judged(self, tenant: str | None = None) -> Sequence[JudgedAnswer]:
        """Everything that was said, the oldest first; of one tenant, or of all."""
        query = (
            "SELECT answers.answer, api, client, verdict, verdicts.at FROM verdicts "
            "JOIN answers ON answers.id = verdicts.answer WHERE ? IS NULL OR tenant = ? "
            "ORDER BY verdicts.at, verdicts.answer, api, client"
        )
        with self._connection() as connection:
            return [_judged(row) for row in connection.execute(query, (tenant, tenant)).fetchall()]

    def forget(self, tenant: str | None = None, before: float = math.inf) -> int:
        """Removes answers and what was said about them; how many answers.

        Of one tenant, or of all; only what is older than `before`, seconds since the epoch.
        """
        if self.path is not None and not self.path.exists():
            return 0
        with self._connection() as connection:
            gone = connection.execute(
                "DELETE FROM answers WHERE at < ? AND (? IS NULL OR tenant = ?)",
                (min(before, _FOREVER), tenant, tenant),
            ).rowcount
            _drop_orphans(connection)
        with self._connection() as connection:
            connection.commit()
            require_empty_log(connection, self.path or "memory")
        return gone

    def close(self) -> None:
        """Releases the file."""
        with FORKS_WAIT, self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The one connection, in a transaction, for one thread at a time."""
        try:
            with FORKS_WAIT, self._lock:
                if self._opened is None:
                    self._opened = self._open()
                with self._opened:
                    yield self._opened
        except (sqlite3.Error, OSError, UnicodeDecodeError, DamagedRow) as error:
            where = self.path or Path()
            told = f"{self.path or 'memory'}: answers: {error}{cure(error, where)}"
            raise EngineUnavailable(told) from error

    def _open(self) -> sqlite3.Connection:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        opened = sqlite3.connect(self.path or ":memory:", timeout=BUSY_SECONDS, check_same_thread=False)
        use_write_ahead_log(opened, BUSY_SECONDS)
        opened.execute("PRAGMA synchronous = NORMAL")  # no wait for the disk in a search
        opened.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
        opened.executescript(_TABLES)
        return opened


def _salt(connection: sqlite3.Connection) -> bytes:
    """The secret of this log, made with its first answer."""
    found = connection.execute("SELECT salt FROM secret").fetchone()
    if found is None:
        connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(_SALT_BYTES),))
        found = connection.execute("SELECT salt FROM secret").fetchone()
    salt: bytes = found[0]
    if type(salt) is not bytes or len(salt) != _SALT_BYTES:
        raise DamagedRow("secret.salt", f"no {_SALT_BYTES} bytes")
    return salt


def _judged(row: Sequence[Any]) -> JudgedAnswer:
    checked("verdicts", _SAID, [row[1:]])
    one_of("verdicts.verdict", get_args(Verdict), [row[3]])
    found = JudgedAnswer(decoded("answers.answer", row[0], RememberedAnswer), *row[1:])
    one_of("verdicts.api", found.answer.shown, [found.api])
    return found


def _tidy(connection: sqlite3.Connection, oldest: float, most: int) -> None:
    """Removes what is too old, and of what is too much the oldest of those tenants that have most."""
    connection.execute("DELETE FROM answers WHERE at < ?", (oldest,))
    by_age = "SELECT id, at, row_number() OVER (PARTITION BY tenant ORDER BY at DESC) AS age FROM answers"
    too_many = f"SELECT id FROM ({by_age}) ORDER BY age, at DESC LIMIT -1 OFFSET ?"  # noqa: S608 - constants
    connection.execute(f"DELETE FROM answers WHERE id IN ({too_many})", (most,))  # noqa: S608
    _drop_orphans(connection)


def _drop_orphans(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM verdicts WHERE answer NOT IN (SELECT id FROM answers)")
