"""Vectors of an index: an append-only file of float32 rows, beside the SQLite file.

A row is written once, made durable before the commit that refers to it, and never changed: a reader inside an
older snapshot always finds the vectors of its documents. Rows beyond the committed count are left over from a
session that did not end; the next one writes over them.

The SQLite file holds a checksum of every row. A row that does not match, or that the file has not, is *lost*:
searches leave it out and say so, and the next sync of its source embeds it again into a new row.

Search in a matrix is exact: float32 selects, float64 orders. A matrix product may give two equal rows scores
that differ in the last bit, by where they lie. So the product only selects what can be among the best, within
its rounding error; the few selected rows are scored one by one in float64, and equal rows get equal scores.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Vector
from kitpick_engines.errors import CorruptStore
from kitpick_engines.lexical import Mask
from kitpick_foundation.disk import Disk

_FEW = 0.1
"""Below this fraction of visible rows, gathering them is cheaper than multiplying the whole matrix."""
_GATHERED = 1024
"""Rows gathered at once for their inner products."""
_SERIAL = 262_144
"""Multiplications of a product for which OpenBLAS starts no threads: they cost more than they save here."""


Found = tuple[NDArray[np.intp], NDArray[np.float64]]
"""Positions and inner products, best first."""


def nearest(
    matrix: NDArray[np.float32],
    slots: NDArray[np.int64],
    queries: Sequence[Vector],
    sizes: Sequence[int],
    longest: float,
) -> list[Found]:
    """For each query those of `slots` whose rows have the largest inner product with it, ties in order.

    Args:
        matrix: float32 (rows, d).
        slots: int (n,), the rows that may be found, in the order that breaks ties.
        queries: float32 (d,), finite, of any length.
        sizes: for each query, how many at most.
        longest: upper bound of the rows' lengths.

    Returns:
        For each query, positions in `slots`, and inner products.
    """
    if not queries:
        return []
    exact = np.stack(queries).astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1)
    units = exact / np.where(lengths > 0.0, lengths, 1.0)[:, np.newaxis]
    rough = _products(matrix, slots, units.astype(np.float32))
    error = (exact.shape[1] + 2) * float(np.finfo(np.float32).eps) * longest
    found = []
    for near, unit, length, size in zip(rough, units, lengths.tolist(), sizes, strict=True):
        chosen = _candidates(near, size, error)
        scores = _exact(matrix, slots[chosen], unit)
        order = best(scores, size)
        found.append((chosen[order], scores[order] * length))
    return found


def _candidates(rough: NDArray[np.float32], k: int, error: float) -> NDArray[np.intp]:
    """Positions of all that can be among the k best, where each product is off by at most `error`."""
    k = min(k, len(rough))
    if k <= 0:
        return np.empty(0, np.intp)
    threshold = np.partition(rough, len(rough) - k)[len(rough) - k] - 2 * error
    return np.flatnonzero(rough >= threshold)


def _products(
    matrix: NDArray[np.float32], slots: NDArray[np.int64], units: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Inner products of the rows in `slots` with units (q, d): (q, n)."""
    if len(slots) >= _FEW * len(matrix):
        return _rough(matrix, units)[:, slots]
    chunks = [slots[i : i + _GATHERED] for i in range(0, max(len(slots), 1), _GATHERED)]
    return np.concatenate([_rough(matrix[chunk], units) for chunk in chunks], axis=1)


def _rough(rows: NDArray[np.float32], units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Inner products (q, n), in pieces for which BLAS starts no threads; of one query by einsum, likewise."""
    products = np.empty((len(units), len(rows)), np.float32)
    if len(units) == 1:
        np.einsum("ij,j->i", rows, units[0], out=products[0])
        return products
    piece = max(1, _SERIAL // units.size)
    turned = np.ascontiguousarray(units.T)
    for start in range(0, len(rows), piece):
        products[:, start : start + piece] = (rows[start : start + piece] @ turned).T
    return products


def _exact(
    matrix: NDArray[np.float32], slots: NDArray[np.int64], unit: NDArray[np.float64]
) -> NDArray[np.float64]:
    chunks = [slots[i : i + _GATHERED] for i in range(0, max(len(slots), 1), _GATHERED)]
    return np.concatenate([(matrix[chunk].astype(np.float64) * unit).sum(axis=1) for chunk in chunks])


def best(scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Positions of the k largest scores, best first, equal ones in the order of their positions."""
    k = min(k, len(scores))
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    chosen = np.flatnonzero(scores >= least)
    return chosen[np.argsort(-scores[chosen], kind="stable")[:k]]


_COPIED = 4096
"""Rows copied at once by a compaction."""


class MatrixGone(Exception):
    """The file of this snapshot was replaced by a compaction or a swap; a newer snapshot has another one."""


class Matrix:
    """The committed rows of a file, memory-mapped: float32 (≤ slots, d), shorter where the file was cut."""

    def __init__(self, file: Path, slots: int, dimensions: int, *, may_be_missing: bool = False) -> None:
        """Maps the file.

        Raises:
            MatrixGone: it is missing or empty, though there should be rows.
        """
        self.rows = np.empty((0, dimensions), dtype=np.float32)
        self.identity: tuple[str, int] = (file.name, 0)
        """Equal for the same file: its name alone would not tell it from one that was made anew."""
        self._dimensions = dimensions
        self._map: np.memmap[Any, Any] | None = None
        try:
            state = file.stat()
            self.identity = (file.name, state.st_ino)
            held = min(slots, state.st_size // (4 * dimensions))
            if held:
                self._map = np.memmap(file, dtype="<f4", mode="r", shape=(held, dimensions))
                self.rows = self._map.view(np.ndarray)
        except FileNotFoundError:
            held = 0
        if slots and not held and not may_be_missing:
            raise MatrixGone(str(file))

    def is_cut(self) -> bool:
        """Whether somebody made the file shorter than what is mapped: reading there would end the process."""
        if self._map is None:
            return False
        mapping: mmap.mmap = self._map._mmap  # type: ignore[attr-defined]
        return mapping.size() < self.rows.nbytes

    def is_whole(self, slot: object, checksum: object) -> bool:
        """Whether the row is present and its checksum is right."""
        if not isinstance(slot, int):  # whatever stands there: a stranger may have written the file
            return False
        return 0 <= slot < len(self.rows) and checksum_of(self.rows[slot]) == checksum

    def vector(self, slot: int, checksum: int) -> Vector:
        """A copy of the row; zeros where it is lost."""
        vector: Vector = np.zeros(self._dimensions, dtype=np.float32)
        if self.is_whole(slot, checksum):
            vector[:] = self.rows[slot]
        return vector

    def whole(self, slots: NDArray[np.int64], checksums: NDArray[np.int64], known: Mask) -> Mask:
        """Which rows are present with the right checksum: bool (n,).

        Args:
            slots: int (n,), rows.
            checksums: int (n,), what `checksum_of` said when they were written.
            known: bool (m,) by row: those that were found whole before, and are not read again.
        """
        found = np.zeros(len(slots), dtype=bool)
        inside = (slots >= 0) & (slots < min(len(known), len(self.rows)))
        found[inside] = known[slots[inside]]
        for position in np.flatnonzero(~found):
            found[position] = self.is_whole(int(slots[position]), int(checksums[position]))
        return found


def checksum_of(row: Vector) -> int:
    """CRC-32 of a row's bytes."""
    return zlib.crc32(np.ascontiguousarray(row, dtype="<f4").data)


class MatrixWriter:
    """Appends rows behind the committed ones.

    Of a file that is too short, the missing rows are lost: new ones take their places, and no checksum of a
    lost row matches them. So the file grows by what is written, whatever number of rows a catalog claims.
    """

    def __init__(self, disk: Disk, file: Path, slots: int, dimensions: int) -> None:
        self._disk = disk
        self._path = file
        self._row_bytes = dimensions * 4
        disk.make_folder(file.parent)
        if file.is_symlink():
            raise CorruptStore(f"{file}: a symbolic link: kitpick did not make it, and does not write there")
        self._file = disk.open(file, "r+b" if file.exists() else "w+b")
        try:
            self.slots = min(slots, self._file.seek(0, os.SEEK_END) // self._row_bytes)
            disk.truncate(self._file, self.slots * self._row_bytes)
        except BaseException:
            self._file.close()
            raise

    def append(self, vectors: NDArray[np.float32]) -> int:
        """Writes rows and returns the slot of the first. A failed write leaves no part of them."""
        first = self.slots
        if not len(vectors):
            return first
        self._file.seek(first * self._row_bytes)
        self._disk.write(self._file, np.ascontiguousarray(vectors, dtype="<f4").data)
        self.slots += len(vectors)
        return first

    def sync(self) -> None:
        """Makes the rows and the file's name durable."""
        self._disk.sync(self._file)
        self._disk.sync_folder(self._path.parent)

    def close(self) -> None:
        """Closes the file; rows that no commit refers to are left over."""
        self._file.close()


def copy_rows(source: NDArray[np.float32], slots: NDArray[np.int64], target: MatrixWriter) -> None:
    """Appends the given rows of a matrix, a chunk at a time; zeros for one that is not there."""
    for start in range(0, len(slots), _COPIED):
        chunk = slots[start : start + _COPIED]
        there = (chunk >= 0) & (chunk < len(source))
        rows = np.zeros((len(chunk), source.shape[1]), dtype=np.float32)
        rows[there] = source[chunk[there]]
        target.append(rows)


def remove_orphans(disk: Disk, folder: Path, keep: Iterable[str]) -> None:
    """Removes matrices that no index refers to: left by a killed session or just replaced."""
    wanted = set(keep)
    for file in folder.glob("*.f32"):
        if file.name not in wanted:
            remove_matrix(disk, file)


def remove_matrix(disk: Disk, file: Path) -> None:
    """Removes a file that no new snapshot refers to; readers that have it open keep their rows."""
    with suppress(OSError):  # where open files cannot be removed, the next session tries again
        disk.remove(file)
