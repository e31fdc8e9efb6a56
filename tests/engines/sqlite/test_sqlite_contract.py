"""The SQLite engine does what every engine must."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from contract_suite import EngineContract
from leaks import LeakContract

from kitpick_engines.contract import Engine
from kitpick_engines.sqlite import SqliteEngine


class TestSqlite(EngineContract, LeakContract):
    @pytest.fixture
    def make_engine(self, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
        numbers = itertools.count()
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(SqliteEngine(tmp_path / f"{next(numbers)}.db")))
