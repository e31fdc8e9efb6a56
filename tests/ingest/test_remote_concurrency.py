"""Syncs of one catalog on a server at the same time, from machines that share no lock file."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from servers import MakeCatalog
from shops import HashEmbedder, Listed, api

from kitpick_engines.document import ApiDocument
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_ingest.sync import SyncOptions, SyncReport, sync


class Machine:
    """A client with a folder of locks of its own."""

    def __init__(self, engine: RemoteEngine, folder: Path, gate: threading.Barrier) -> None:
        self.engine = engine
        self.folder = folder
        self.gate = gate

    def sync(self, source: str, documents: list[ApiDocument]) -> SyncReport:
        """Reads its source while the others read theirs."""
        options = SyncOptions(locks=self.folder, allow_shrink=True)
        items = [*documents, self.gate.wait]
        return sync(Listed(source, items), self.engine, HashEmbedder(), None, options)


def machines(make_engine: MakeCatalog, tmp_path: Path, count: int) -> list[Machine]:
    first = make_engine()
    gate = threading.Barrier(count, timeout=60)
    return [Machine(make_engine(first.url), tmp_path / str(n), gate) for n in range(count)]


def held(engine: RemoteEngine) -> list[tuple[str, str]]:
    live = engine.live()
    assert live is not None
    return list(engine.hashes(live[0]))


def pairs(documents: list[ApiDocument]) -> list[tuple[str, str]]:
    return sorted((each.id, each.content_hash) for each in documents)


def test_two_sources_at_once_lose_nothing(make_engine: MakeCatalog, tmp_path: Path) -> None:
    both = machines(make_engine, tmp_path, 2)
    wanted = {name: [api(f"api{n}", source=name) for n in range(40)] for name in ("pets", "zoo")}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda machine, name: machine.sync(name, wanted[name]), both, wanted))
    assert held(both[0].engine) == pairs(wanted["pets"] + wanted["zoo"])


@pytest.mark.parametrize("begun", [False, True])
def test_one_sync_twice_at_once_doubles_nothing(
    make_engine: MakeCatalog, tmp_path: Path, begun: bool
) -> None:
    both = machines(make_engine, tmp_path, 2)
    if begun:
        (alone,) = machines(make_engine, tmp_path / "before", 1)
        alone.engine = both[0].engine
        alone.sync("pets", [api("api0", "old"), api("gone")])
    wanted = [api(f"api{n}") for n in range(40)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda machine: machine.sync("pets", wanted), both))
    assert held(both[0].engine) == pairs(wanted)
    stats = both[1].engine.stats()
    assert stats is not None
    assert (stats.documents, stats.by_source) == (40, {"pets": 40})
