"""What searches keep in memory of one committed state: places of the documents and masks of filters.

Arrays are ordered by document id, so a smaller position means a smaller id wherever scores are equal.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Filter
from toolrank_engines.sqlite.matrix import open_matrix
from toolrank_engines.sqlite.statements import select_in
from toolrank_engines.sqlite.tables import Index

_FILTERS = 64
"""Filters whose masks are kept; one takes about five bytes a document."""

_COLUMNS = """
SELECT row, slot, public, tenant, category, tool_key, effect, deprecated FROM docs_# ORDER BY id
"""

Mask = NDArray[np.bool_]


class Column:
    """A column of text as small numbers."""

    def __init__(self, values: Sequence[str]) -> None:
        self._codes: dict[str, int] = {}
        self._rows = np.fromiter(
            (self._codes.setdefault(value, len(self._codes)) for value in values), np.int32, len(values)
        )

    def among(self, wanted: Iterable[str]) -> Mask:
        """Which rows hold one of the wanted values: bool (n,)."""
        codes = [self._codes[value] for value in wanted if value in self._codes]
        return np.isin(self._rows, np.array(codes, dtype=np.int32))


class View:
    """The documents of one index at one generation. Immutable but for its cache of masks."""

    def __init__(self, connection: sqlite3.Connection, index: Index, folder: Path) -> None:
        """Reads inside the connection's transaction.

        Raises:
            MatrixGone: the vectors of this state were replaced meanwhile.
        """
        self.index = index
        self.matrix = open_matrix(folder / index.matrix, index.slots, index.schema.dimensions)
        rows = connection.execute(index.sql(_COLUMNS)).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * 8
        self.rows = np.array(columns[0], dtype=np.int64)
        self.slots = np.array(columns[1], dtype=np.int64)
        self._public = np.array(columns[2], dtype=bool)
        self._tenant, self._category, self._tool, self._effect = (Column(column) for column in columns[3:7])
        self._deprecated = np.array(columns[7], dtype=bool)
        self._position = np.full(int(self.rows.max(initial=0)) + 1, -1, dtype=np.int64)
        self._position[self.rows] = np.arange(len(self.rows))
        self._masks: OrderedDict[Filter, tuple[Mask, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def positions(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """Positions of row numbers of this view: int (n,)."""
        found: NDArray[np.int64] = self._position[np.array(rows, dtype=np.int64)]
        return found

    def visible(self, connection: sqlite3.Connection, wanted: Filter) -> tuple[Mask, bytes]:
        """Who may be found: bool (n,) by position, and the same as `lexical.best_matches` takes it."""
        with self._lock:
            if wanted in self._masks:
                self._masks.move_to_end(wanted)
                return self._masks[wanted]
        mask = self._mask(connection, wanted)
        made = mask, self._places(mask)
        with self._lock:
            self._masks[wanted] = made
            if len(self._masks) > _FILTERS:
                self._masks.popitem(last=False)
        return made

    def of_tools(self, tools: Iterable[str]) -> Mask:
        """Which documents belong to one of these tools: bool (n,)."""
        return self._tool.among(tools)

    def _mask(self, connection: sqlite3.Connection, wanted: Filter) -> Mask:
        mask = self._public | self._allowed(connection, wanted.principals)
        mask &= self._tenant.among({"", wanted.tenant})
        if wanted.categories:
            mask &= self._category.among(wanted.categories)
        if wanted.tools:
            mask &= self._tool.among(wanted.tools)
        if wanted.effects:
            mask &= self._effect.among(effect.value for effect in wanted.effects)
        if wanted.deprecated != "include":
            mask &= self._deprecated == (wanted.deprecated == "only")
        return mask

    def _allowed(self, connection: sqlite3.Connection, principals: Iterable[str]) -> Mask:
        statement = self.index.sql("SELECT row FROM principals_# WHERE principal IN")
        rows = [row for (row,) in select_in(connection, statement, principals)]
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[self.positions(rows)] = True
        return mask

    def _places(self, mask: Mask) -> bytes:
        places = np.zeros(len(self._position), dtype=">u4")
        places[self.rows[mask]] = np.flatnonzero(mask) + 1
        return places.tobytes()


class LatestView:
    """Keeps the view of the newest generation that any reader asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = -1
        self._view: View | None = None

    def get(self, generation: int, build: Callable[[], View]) -> View:
        """The view of this generation, built once however many threads ask."""
        with self._lock:
            if self._view is not None and self._generation == generation:
                return self._view
            view = build()
            if generation > self._generation:
                self._generation, self._view = generation, view
            return view
