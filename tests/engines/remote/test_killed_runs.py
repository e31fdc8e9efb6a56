"""`kill -9` of the search server under a sync, a move to another model with its swap, and a copy.

Whatever the moment: a reader sees all of one generation of documents and nothing of another, and the next run
of the same ends equal to one that nobody disturbed. KITPICK_NODE_KILLS sets how often.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from servers import catalog_url
from shops import HashEmbedder, Listed, api
from test_killed_node import KILLS, Background, node

from kitpick_engines.contract import Engine, Filter
from kitpick_engines.errors import EngineError, EngineUnavailable
from kitpick_engines.opening import open_engine
from kitpick_engines.remote import lease
from kitpick_engines.sqlite import SqliteEngine
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.errors import IngestError
from kitpick_ingest.progress import NullProgress
from kitpick_ingest.sync import SyncOptions, sync

__all__ = ["node"]

pytestmark = [
    pytest.mark.needs("opensearch"),
    pytest.mark.slow,
    pytest.mark.timeout(300 + 180 * KILLS),
]

DOCUMENTS = 400
State = dict[str, tuple[str, bytes]]


def generation(number: int) -> list[object]:
    """Every document is another one each time; every fifth is missing each second time."""
    return [api(f"api{n}", f"in generation {number}") for n in range(DOCUMENTS) if number % 2 or n % 5]


class Runs:
    """The three ways to change a catalog, each from a client that gives up at once."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.embedder = HashEmbedder()
        self.embedder.forgets = True

    def sync(self, engine: Engine, number: int) -> None:
        options = SyncOptions(locks=self.folder / "locks", allow_shrink=True)
        sync(Listed("pets", generation(number)), engine, self.embedder, None, options)

    def move(self, engine: Engine, number: int) -> None:
        """The next generation with another model: builds an index, swaps it in, and syncs."""
        self.embedder = HashEmbedder(f"hash@{number}")
        self.embedder.forgets = True
        self.sync(engine, number)

    def copy(self, engine: Engine, number: int) -> None:
        """The next generation from another catalog."""
        with closing(SqliteEngine(self.folder / f"{number}.db")) as original:
            self.sync(original, number)
            copy_catalog(original, engine, NullProgress(), self.folder / "locks")

    def remote(self, run: Callable[[Engine, int], None], number: int) -> None:
        with closing(open_engine(self.url)) as engine:
            run(engine, number)

    def undisturbed(self, number: int) -> State:
        with closing(SqliteEngine(self.folder / f"goal-{number}.db")) as engine:
            self.sync(engine, number)
            return held(engine)


def held(engine: Engine) -> State:
    live = engine.live()
    assert live is not None
    return {
        each.document.id: (each.document.content_hash, each.vector.tobytes())
        for each in engine.documents(live[0])
    }


def look(engine: Engine) -> None:
    """All documents of one generation, or an error."""
    found = engine.fetch([f"pets/shop/api{n}" for n in range(DOCUMENTS)], Filter())
    numbers = {int(each.description.rpartition(" ")[2]) for each in found}
    assert len(numbers) == 1, f"generations {numbers} at once"
    assert len(found) == len(generation(numbers.pop())), "a part of a generation"


def works(step: Callable[[], None]) -> bool:
    try:
        step()
    except EngineUnavailable:
        time.sleep(1)
        return False
    return True


def test_a_run_after_a_kill_ends_as_an_undisturbed_one(node, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(lease, "LEASE_SECONDS", 2.0)
    rng = np.random.default_rng(11)
    runs = Runs(catalog_url(node.url, "opensearch", patience=0, busy=60, timeout=10), tmp_path)
    runs.remote(runs.sync, 0)
    seconds = 1.0
    with closing(open_engine(runs.url)) as reader:
        watcher = Background(lambda: look(reader))
        watcher.start()
        for number in range(1, KILLS + 1):
            run = (runs.sync, runs.move, runs.copy)[number % 3]
            model = runs.embedder
            disturbed = threading.Thread(target=attempt, args=(runs, run, number))
            disturbed.start()
            time.sleep(rng.uniform(0, seconds))
            node.kill()
            disturbed.join()
            node.start()
            runs.embedder = model
            started = time.monotonic()
            again = partial(runs.remote, run, number)
            assert any(works(again) for _ in range(20)), "what a person does: once more, until it works"
            seconds = min(5.0, time.monotonic() - started)
            with closing(open_engine(runs.url)) as engine:
                assert held(engine) == runs.undisturbed(number)
        watcher.end()
        assert watcher.wrong == []
        assert watcher.done > 0


def attempt(runs: Runs, run: Callable[[Engine, int], None], number: int) -> None:
    with suppress(EngineError, IngestError):
        runs.remote(run, number)
