"""A temporary file with what a sync knows of every document, so that memory does not grow with the catalog.

The file is a private temporary SQLite database. No other process sees it, and it disappears with the process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from kitpick_engines.contract import IndexedDocument, RestrictedDocument, Vector
from kitpick_engines.document import ApiDocument, decode_document, encode_document
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_ingest.errors import LocalWriteFailed

_LAYOUT = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16384;
CREATE TABLE documents (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hash TEXT, seen INTEGER NOT NULL DEFAULT 0, body BLOB,
    tenant TEXT NOT NULL DEFAULT '', limited INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE vectors (place INTEGER PRIMARY KEY, vector BLOB NOT NULL);
BEGIN;
"""
# `hash` is what the index holds, NULL for a document it does not hold; `body` is set where it is to be kept.
# One transaction that never ends: nobody else reads this, and it saves a flush after every statement.


@contextmanager
def _on_disk() -> Iterator[None]:
    """A context of what SQLite does: forks wait for it, and an error names the cause, mostly a full disk."""
    with FORKS_WAIT:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise LocalWriteFailed(
                f"temporary file of the sync: {error}; nothing was written to the catalog; free some space, "
                "or name a folder on a larger disk in SQLITE_TMPDIR"
            ) from error


class KnownDocument(NamedTuple):
    """The state of an id in the spool."""

    seen: bool
    """Whether this run has seen the id already."""
    held: str | None
    """The content hash that the index holds, if any."""
    tenant: str
    """Tenant of the document that the index holds."""
    limited: bool
    """Whether only named principals may see it."""

    def is_widened_by(self, document: ApiDocument) -> bool:
        """Whether the held document was for one tenant or for named principals, and this one no longer is.

        Another tenant or further principals do not count.
        """
        return bool(self.tenant and not document.tenant) or (self.limited and not document.allowed)


_UNKNOWN = KnownDocument(seen=False, held=None, tenant="", limited=False)


class Spool:
    """Documents of an index compared with those that should be in it.

    Every method raises `LocalWriteFailed` when the disk is full. Leaving the context frees the space.
    """

    def __init__(self) -> None:
        with _on_disk():
            self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._database.executescript(_LAYOUT)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    def hold(self, hashes: Iterable[tuple[str, str]]) -> int:
        """Stores the documents of the index, as pairs (id, content hash), and returns their number."""
        with _on_disk():
            self._database.executemany("INSERT INTO documents (id, hash) VALUES (?, ?)", hashes)
            (count,) = self._database.execute("SELECT count(*) FROM documents WHERE hash NOT NULL").fetchone()
        return int(count)

    def restrict(self, restricted: Iterable[RestrictedDocument]) -> None:
        """Stores which of the held documents are restricted."""
        rows = ((each.tenant, each.limited, each.id) for each in restricted)
        with _on_disk():
            self._database.executemany("UPDATE documents SET tenant = ?, limited = ? WHERE id = ?", rows)

    def find(self, document_id: str) -> KnownDocument:
        """The state of this id."""
        with _on_disk():
            row = self._database.execute(
                "SELECT seen, hash, tenant, limited FROM documents WHERE id = ?", (document_id,)
            ).fetchone()
        return _UNKNOWN if row is None else KnownDocument(bool(row[0]), row[1], row[2], bool(row[3]))

    def confirm(self, contents: Sequence[tuple[str, str]]) -> list[bool]:
        """For each pair (id, content hash): whether the index holds it and it was not seen yet.

        What is confirmed stays as it is in the index. Of several pairs with one id only the first can be.
        """
        first = dict(reversed(contents))
        marks = ",".join("?" * len(first))
        with _on_disk():
            held = self._database.execute(
                f"SELECT id, hash FROM documents WHERE seen = 0 AND id IN ({marks})",  # noqa: S608 - marks only
                tuple(first),
            )
            same = {document_id for document_id, content in held if content == first[document_id]}
            self._database.executemany("UPDATE documents SET seen = 1 WHERE id = ?", ((i,) for i in same))
        confirmed = []
        for document_id, _ in contents:
            confirmed.append(document_id in same)
            same.discard(document_id)
        return confirmed

    def keep(self, document_id: str) -> None:
        """The held document of this id stays as it is; an id that is not held is ignored."""
        with _on_disk():
            self._database.execute("UPDATE documents SET seen = 1 WHERE id = ?", (document_id,))

    def write(self, document: ApiDocument) -> None:
        """The document is new or changed, and must be written."""
        with _on_disk():
            self._database.execute(
                "INSERT INTO documents (id, seen, body) VALUES (?, 1, ?) "
                "ON CONFLICT (id) DO UPDATE SET seen = 1, body = excluded.body",
                (document.id, encode_document(document)),
            )

    def count_gone(self) -> int:
        """How many documents the index holds that this run has not seen."""
        with _on_disk():
            (count,) = self._database.execute("SELECT count(*) FROM documents WHERE seen = 0").fetchone()
        return int(count)

    def gone(self) -> Iterator[str]:
        """Ids that the index holds and this run has not seen, in order."""
        query = "SELECT id FROM documents WHERE seen = 0 AND id > ? ORDER BY id LIMIT 1"
        last = ("",)
        while True:
            with _on_disk():
                last = self._database.execute(query, last).fetchone()
            if last is None:
                return
            yield last[0]

    def pending(self, size: int) -> Iterator[list[tuple[int, ApiDocument]]]:
        """Documents to be written, in batches, each with its place; the same order every time."""
        for rows in self._batches("SELECT place, body FROM documents WHERE body IS NOT NULL", size):
            yield [(place, decode_document(body)) for place, body in rows]

    def attach(self, places: Sequence[int], vectors: Sequence[Vector]) -> None:
        """Stores the vectors of the documents at these places."""
        blobs = [vector.astype("<f4").tobytes() for vector in vectors]
        with _on_disk():
            self._database.executemany("INSERT INTO vectors VALUES (?, ?)", zip(places, blobs, strict=True))

    def embedded(self, size: int) -> Iterator[list[IndexedDocument]]:
        """Documents to be written with the vectors attached to them, in batches."""
        query = "SELECT place, body, vector FROM vectors JOIN documents USING (place) WHERE true"
        for rows in self._batches(query, size):
            yield [
                IndexedDocument(decode_document(body), np.frombuffer(vector, "<f4"))
                for _, body, vector in rows
            ]

    def _batches(self, query: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of a query by place: a statement for each batch, so that the caller may write in between."""
        statement = f"{query} AND place > ? ORDER BY place LIMIT ?"
        last = 0
        while True:
            with _on_disk():
                rows = self._database.execute(statement, (last, size)).fetchall()
            if not rows:
                return
            yield rows
            last = rows[-1][0]
