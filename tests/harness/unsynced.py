"""Stores of this process do not wait for the disk: a power cut is what no test makes.

A store that is written waits for the disk a dozen times. Where something else fills that disk, an
installation beside the tests for example, each of these takes a second. Processes that tests start wait as
their users' do.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from kitpick_foundation.disk import Disk

_OFF = "PRAGMA synchronous = OFF"


class _Unsynced(sqlite3.Connection):
    """Takes every setting of how commits wait for the disk as: not at all."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql.startswith("PRAGMA synchronous"):
            return super().execute(_OFF)
        if sql.startswith("PRAGMA journal_mode ="):
            super().execute(_OFF)
        return super().execute(sql, *parameters)


def unsync() -> None:
    """From now on no store that this process opens waits for the disk."""
    Disk.connect = _connect  # type: ignore[method-assign]
    Disk.sync = Disk.sync_folder = lambda *_: None  # type: ignore[method-assign,assignment]


def _connect(self: Disk, database: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        database,
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=_Unsynced,
    )
