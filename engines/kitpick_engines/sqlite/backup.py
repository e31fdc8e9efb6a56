"""A backup: a catalog with its vectors in one file, written while the catalog is in use.

The file is a SQLite database: the tables of the catalog as they were at one commit, copied by SQLite's online
backup, and a table of vectors. It appears under its name when it is complete and durable. It is no catalog:
its application id is another one, so that nobody searches it or writes to it by mistake.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import BackupReport
from kitpick_engines.errors import CorruptStore, EngineUnavailable, NotABackup
from kitpick_engines.sqlite import tables
from kitpick_engines.sqlite.connections import UNREADABLE, is_damage, translated
from kitpick_engines.sqlite.matrix import Matrix, MatrixWriter, checksum_of
from kitpick_foundation.disk import Disk

_VECTORS = "CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL)"
_COPIED = {
    "docs_#": "*",
    "bodies_#": "row, tool, api, text, document, chains",
    "principals_#": "*",
}
"""Tables and their columns."""
_WORDS = "rowid, api, tool, category, description, parameters, examples"
_ROWS_AT_ONCE = 4096
_BUSY_SECONDS = 5.0


def write_backup(
    connection: sqlite3.Connection, index: tables.IndexRow, matrix: Matrix, file: Path, disk: Disk
) -> BackupReport:
    """Writes the state of a read transaction, and replaces an older backup of that name at the end.

    Args:
        connection: in a read transaction.
        index: the live one.
        matrix: its vectors, opened in the same transaction.
        file: the backup.
        disk: where it is written.

    Raises:
        NotABackup: the file exists and is something else.
        StrangeValue: kitpick did not write what the catalog holds.
        EngineUnavailable: it cannot be written; a backup that was there before is whole.
    """
    tables.refuse_strange_values(connection)
    if file.exists():
        with _opened(file, disk):
            pass
    part = file.with_name(f"{file.name}.part")
    with translated(file):
        try:
            report = _write(connection, index, matrix, part, disk)
            disk.replace(part, file)
        except BaseException:
            with suppress(OSError):
                disk.remove(part)
            raise
    try:
        disk.sync_folder(file.absolute().parent)
    except OSError as error:
        raise EngineUnavailable(
            f"{file}: the new backup is in place, but the disk does not confirm its name ({error.strerror}): "
            "a power cut might bring the one before back; back up again"
        ) from error
    return report


def _write(
    connection: sqlite3.Connection, index: tables.IndexRow, matrix: Matrix, part: Path, disk: Disk
) -> BackupReport:
    disk.remove(part)
    documents = kept = 0
    with closing(disk.connect(f"{part.absolute().as_uri()}?mode=rwc", _BUSY_SECONDS)) as target:
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        target.execute("BEGIN")
        target.execute(_VECTORS)
        rows = connection.execute(index.sql("SELECT row, slot, checksum FROM docs_# ORDER BY row"))
        for row, slot, checksum in rows:
            documents += 1
            if matrix.is_whole(slot, checksum):
                vector = matrix.rows[slot].tobytes()
                target.execute("INSERT INTO vectors VALUES (?, ?)", (row, vector))
                kept += 1
        target.execute(f"PRAGMA application_id = {tables.BACKUP_ID}")
        target.commit()
    with closing(disk.open(part, "r+b")) as written:
        disk.sync(written)
    return BackupReport(documents=documents, damaged=documents - kept, bytes=part.stat().st_size)


@contextmanager
def opened_backup(file: Path, disk: Disk) -> Iterator[tables.IndexRow]:
    """The live index of a backup, after its tables were checked.

    Raises:
        NotABackup: the file is missing, or something else, or the backup of an empty catalog.
        CorruptStore: it is damaged.
        OtherFormat: another version wrote it.
    """
    with _opened(file, disk) as connection:
        (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        tables.refuse_strange_values(connection)
        index = tables.live_index(connection)
        if index is None:
            raise NotABackup(f"{file}: the backup holds no documents: there is nothing to restore")
        yield index


@contextmanager
def _opened(file: Path, disk: Disk) -> Iterator[sqlite3.Connection]:
    if not file.is_file():
        raise NotABackup(f"{file}: there is no such backup file")
    try:
        uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(disk.connect(uri, _BUSY_SECONDS)) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != tables.BACKUP_ID:
                what = "a catalog" if application == tables.APPLICATION_ID else "some other database"
                raise NotABackup(f"{file}: is {what}, not a backup: choose another file")
            tables.refuse_other_format(int(version))
            tables.refuse_programs(connection)
            yield connection
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and not is_damage(error):
            raise EngineUnavailable(f"{file}: {error}") from error
        if "not a database" in str(error):
            raise NotABackup(f"{file}: is not a backup ({error}): choose another file") from error
        raise CorruptStore(f"{file}: the backup is damaged ({error}): take another one") from error
    except UNREADABLE as error:
        raise CorruptStore(f"{file}: the backup is damaged ({error}): take another one") from error


def restore_backup(
    connection: sqlite3.Connection, held: tables.IndexRow, folder: Path, disk: Disk
) -> BackupReport:
    """Makes the attached database `backup` the only index of a catalog, inside the caller's transaction.

    Args:
        connection: in a write transaction.
        held: the live index of the backup.
        folder: of the catalog's vectors.
        disk: where they are written, durable when this returns.
    """
    before = tables.all_indexes(connection)
    index = tables.create_index(connection, held.schema)
    for table, columns in _COPIED.items():
        read = columns if held.chained else columns.replace("chains", "x''")
        copied = f"INSERT INTO main.{index.sql(table)} SELECT {read} FROM backup.{held.sql(table)}"  # noqa: S608
        connection.execute(copied)
    words = (
        f"INSERT INTO main.words_{index.number} ({_WORDS}) SELECT {_WORDS} FROM backup.words_{held.number}"  # noqa: S608
    )
    connection.execute(words)
    documents, damaged = _restore_vectors(connection, held, index, folder, disk)
    connection.execute(
        "UPDATE main.indexes SET slots = ?, longest = ? WHERE number = ?",
        (documents, held.longest, index.number),
    )
    tables.set_live(connection, index)
    for other in before:
        tables.drop_index(connection, other)
    tables.advance(connection)
    size = int(connection.execute("PRAGMA backup.page_count").fetchone()[0])
    size *= int(connection.execute("PRAGMA backup.page_size").fetchone()[0])
    return BackupReport(documents=documents, damaged=damaged, bytes=size)


def _restore_vectors(
    connection: sqlite3.Connection, held: tables.IndexRow, index: tables.IndexRow, folder: Path, disk: Disk
) -> tuple[int, int]:
    """Numbers of rows written and of rows lost; lost ones keep the wrong checksum."""
    dimensions = held.schema.dimensions
    statement = (
        f"SELECT row, checksum, vector FROM backup.docs_{held.number} LEFT JOIN backup.vectors USING (row) "  # noqa: S608
        "ORDER BY row"
    )
    damaged = 0
    writer = MatrixWriter(disk, folder / index.matrix, 0, dimensions)
    with closing(writer):
        found = connection.execute(statement)
        while rows := found.fetchmany(_ROWS_AT_ONCE):
            vectors = np.stack([_vector(blob, dimensions) for _, _, blob in rows])
            damaged += sum(
                checksum_of(vector) != checksum
                for vector, (_, checksum, _) in zip(vectors, rows, strict=True)
            )
            first = writer.append(vectors)
            slots = ((first + offset, row) for offset, (row, _, _) in enumerate(rows))
            connection.executemany(index.sql("UPDATE main.docs_# SET slot = ? WHERE row = ?"), slots)
        writer.sync()
    return writer.slots, damaged


def _vector(blob: object, dimensions: int) -> NDArray[np.float32]:
    if not isinstance(blob, bytes) or len(blob) != 4 * dimensions:
        return np.zeros(dimensions, dtype=np.float32)
    return np.frombuffer(blob, dtype="<f4")
