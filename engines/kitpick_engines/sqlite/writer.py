"""A write session: rows of tables and slots of vectors, all visible at the commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import IndexedDocument, Vector, checked_vector
from kitpick_engines.document import ApiDocument, encode_chains, encode_document, validate_document
from kitpick_engines.lexical import LexicalWeights, field_lengths, indexed_fields
from kitpick_engines.sqlite.connections import translated
from kitpick_engines.sqlite.matrix import Matrix, MatrixWriter, checksum_of, copy_rows
from kitpick_engines.sqlite.tables import IndexRow, advance, with_chains
from kitpick_engines.text import rerank_text
from kitpick_foundation.disk import Disk
from kitpick_foundation.fork_gate import FORKS_WAIT

_INSERT_DOC = """
INSERT INTO docs_#
  (row, id, source, hash, slot, checksum, category, tool_key, effect, deprecated, tenant, public, lengths)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class SqliteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one engine object; none of them is stored in the catalog."""

    weights: LexicalWeights = LexicalWeights()
    busy_seconds: float = 30.0
    """How long a writer waits for another one before `EngineUnavailable`."""
    compact_above: float = 0.3
    """A write session rewrites the matrix when more than this fraction of its rows is dead."""
    compact_from: int = 1024
    """A matrix with fewer rows is not worth rewriting."""


class SqliteWriter:
    """The `Writer` of the SQLite engine. For one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, index: IndexRow, folder: Path, disk: Disk) -> None:
        self._connection = connection
        self._index = with_chains(connection, index)
        self._folder = folder
        self._disk = disk
        self._longest = index.longest
        self._changed = False
        self.replaced: list[str] = []
        """Matrix files that a compaction replaced: to be removed after the commit."""
        (last,) = self._sql("SELECT coalesce(max(row), 0) FROM docs_#").fetchone()
        self._next_row = int(last) + 1
        self._matrix = MatrixWriter(disk, folder / index.matrix, index.slots, index.schema.dimensions)

    @FORKS_WAIT
    def write(self, batch: Sequence[IndexedDocument]) -> None:
        """Adds documents, replacing those of the same id; the last of equal ids in the batch counts."""
        if not batch:
            return
        dimensions = self._index.schema.dimensions
        vectors = [checked_vector(item.vector, dimensions) for item in batch]
        latest = {
            validate_document(item.document).id: (item.document, vector)
            for item, vector in zip(batch, vectors, strict=True)
        }
        with translated(self._folder):
            self._keep(
                [document for document, _ in latest.values()], np.stack([v for _, v in latest.values()])
            )

    @FORKS_WAIT
    def delete(self, ids: Iterable[str]) -> None:
        """Removes documents; unknown ids are ignored."""
        with translated(self._folder):
            for document_id in ids:
                self._remove(document_id)

    @FORKS_WAIT
    def finish(self, settings: SqliteSettings) -> None:
        """Makes the vectors durable and records them, before the caller commits."""
        if not self._changed:
            return
        with translated(self._folder):
            (kept,) = self._sql("SELECT count(*) FROM docs_#").fetchone()
            name = self._index.matrix
            slots = self._matrix.slots
            if slots >= settings.compact_from and kept < (1 - settings.compact_above) * slots:
                name = self._compact()
            self._matrix.sync()
            self._connection.execute(
                "UPDATE indexes SET matrix = ?, slots = ?, longest = ? WHERE number = ?",
                (name, self._matrix.slots, self._longest, self._index.number),
            )
            advance(self._connection)

    def close(self) -> None:
        """Closes the matrix file."""
        self._matrix.close()

    def _keep(self, documents: list[ApiDocument], vectors: NDArray[np.float32]) -> None:
        self._connection.execute("SAVEPOINT batch")
        try:
            slot = self._matrix.append(vectors)
            for offset, document in enumerate(documents):
                row = self._remove(document.id)
                if row is None:
                    row, self._next_row = self._next_row, self._next_row + 1
                self._insert(row, slot + offset, vectors[offset], document)
        except BaseException:
            if self._connection.in_transaction:  # a full disk has ended it, and the savepoint with it
                self._connection.execute("ROLLBACK TO batch")
                self._connection.execute("RELEASE batch")
            raise
        self._connection.execute("RELEASE batch")
        self._longest = max(self._longest, float(np.linalg.norm(vectors.astype(np.float64), axis=1).max()))
        self._changed = True

    def _insert(self, row: int, slot: int, vector: Vector, d: ApiDocument) -> None:
        fields = indexed_fields(d)
        place = slot, checksum_of(vector)
        flags = d.effect.value, d.deprecated, d.tenant, not d.allowed, field_lengths(fields)
        self._sql(_INSERT_DOC, row, d.id, d.source, d.content_hash, *place, d.category, d.tool_key, *flags)
        body = row, d.tool, d.api, rerank_text(d), encode_document(d), encode_chains(d)
        self._sql(
            "INSERT INTO bodies_# (row, tool, api, text, document, chains) VALUES (?, ?, ?, ?, ?, ?)", *body
        )
        for principal in set(d.allowed):
            self._sql("INSERT INTO principals_# VALUES (?, ?)", principal, row)
        words = "INSERT INTO words_# (rowid, api, tool, category, description, parameters, examples) "
        self._sql(words + "VALUES (?, ?, ?, ?, ?, ?, ?)", row, *fields)

    def _remove(self, document_id: str) -> int | None:
        """Removes a document and returns its row number, None where there was none."""
        try:
            found = self._sql("SELECT row FROM docs_# WHERE id = ?", document_id).fetchone()
        except UnicodeEncodeError:  # a lone surrogate: no stored id can equal it
            return None
        if found is None:
            return None
        row = int(found[0])
        self._sql("DELETE FROM words_# WHERE rowid = ?", row)
        for table in ("docs_#", "bodies_#", "principals_#"):
            self._sql(f"DELETE FROM {table} WHERE row = ?", row)  # noqa: S608 - one of the three above
        self._changed = True
        return row

    def _compact(self) -> str:
        """Copies the living rows into a new file, in the order they lie, and returns its name."""
        self._matrix.sync()
        living = self._sql("SELECT slot, row FROM docs_# ORDER BY slot").fetchall()
        old_file = self._folder / self._index.matrix
        serial = int(self._index.matrix.split("-")[1].split(".")[0]) + 1
        name = f"{self._index.number}-{serial}.f32"
        dimensions = self._index.schema.dimensions
        source = Matrix(old_file, self._matrix.slots, dimensions)
        target = MatrixWriter(self._disk, self._folder / name, 0, dimensions)
        self._matrix.close()
        self._matrix = target
        copy_rows(source.rows, np.array([slot for slot, _ in living], dtype=np.int64), target)
        statement = self._index.sql("UPDATE docs_# SET slot = ? WHERE row = ?")
        self._connection.executemany(statement, ((new, row) for new, (_, row) in enumerate(living)))
        self.replaced.append(old_file.name)
        return name

    def _sql(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(self._index.sql(statement), values)
