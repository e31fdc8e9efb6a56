"""Vectors of an index: an append-only file of float32 rows, beside the SQLite file.

A row is written once, made durable before the commit that refers to it, and never changed: a reader inside an
older snapshot always finds the vectors of its documents. Rows beyond the committed count are left over from a
session that did not end; the next one writes over them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.errors import CorruptStore

_CHUNK = 4096
"""Rows copied at once by a compaction."""


class MatrixGone(Exception):
    """The file of this snapshot was replaced by a compaction or a swap: take a newer snapshot."""


def open_matrix(file: Path, slots: int, dimensions: int) -> NDArray[np.float32]:
    """The committed rows, memory-mapped: float32 (slots, dimensions).

    Raises:
        MatrixGone: the file does not exist.
        CorruptStore: it is shorter than the database says.
    """
    if slots == 0:
        return np.empty((0, dimensions), dtype=np.float32)
    needed = slots * dimensions * 4
    try:
        size = file.stat().st_size
        if size < needed:
            raise CorruptStore(f"{file}: {size:,} bytes, the catalog needs {needed:,}; ingest again")
        mapped = np.memmap(file, dtype="<f4", mode="r", shape=(slots, dimensions))
    except FileNotFoundError as error:
        raise MatrixGone(str(file)) from error
    return mapped.view(np.ndarray)


class MatrixWriter:
    """Appends rows behind the committed ones."""

    def __init__(self, file: Path, slots: int, dimensions: int) -> None:
        file.parent.mkdir(exist_ok=True)
        self.slots = slots
        self._row_bytes = dimensions * 4
        self._file = file.open("r+b" if file.exists() else "w+b")
        self._file.seek(slots * self._row_bytes)
        self._file.truncate()

    def append(self, vectors: NDArray[np.float32]) -> int:
        """Writes rows and returns the slot of the first."""
        first = self.slots
        self._file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
        self.slots += len(vectors)
        return first

    def sync(self) -> None:
        """Makes the rows and the file's name durable."""
        self._file.flush()
        os.fsync(self._file.fileno())
        _sync_folder(Path(self._file.name).parent)

    def close(self) -> None:
        """Closes the file; rows that no commit refers to are left over."""
        self._file.close()


def copy_rows(source: NDArray[np.float32], slots: NDArray[np.int64], target: MatrixWriter) -> None:
    """Appends the given rows of a matrix, a chunk at a time."""
    for start in range(0, len(slots), _CHUNK):
        target.append(source[slots[start : start + _CHUNK]])


def remove_orphans(folder: Path, keep: Iterable[str]) -> None:
    """Removes matrices that no index refers to: left by a killed session or just replaced."""
    wanted = set(keep)
    for file in folder.glob("*.f32"):
        if file.name not in wanted:
            remove_matrix(file)


def remove_matrix(file: Path) -> None:
    """Removes a file that no new snapshot refers to; who has it open keeps its rows."""
    with suppress(OSError):  # where open files cannot be removed, the next session tries again
        file.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened, and needs no sync
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
