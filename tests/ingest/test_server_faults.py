"""Every request to a search server fails once: what is stored is old or new, and the report is true.

Without patience, an error that is reported means the old state, unless it says that the new one is in place;
success means the new one; a process that stops leaves either. With patience a request that failed once is
repeated, and nobody notices. The next run, with a server that answers, ends where an undisturbed one would
have ended.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from carriers import FaultyCarrier, HowSent
from faults import Crash
from servers import catalog_url, drop
from shops import HashEmbedder, Listed, State, api

from kitpick_engines.contract import Engine
from kitpick_engines.opensearch import OpenSearchCarrier, OpenSearchDialect
from kitpick_engines.remote import lease
from kitpick_engines.remote.address import parse_address
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import SearchServer
from kitpick_engines.sqlite import SqliteEngine
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.progress import NullProgress
from kitpick_ingest.sync import SyncOptions, sync

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.slow]
GENERATIONS = (
    [api("feed", "old"), api("walk"), api("sell")],
    [api("feed", "new"), api("walk"), api("adopt")],
)
"""What a catalog holds in turn."""


class ServerShop:
    """A catalog on a server, and clients of it that come and go."""

    def __init__(self, url: str, folder: Path) -> None:
        self.address = parse_address(url)
        self.carrier = OpenSearchCarrier(self.address)
        self.folder = folder

    def client(self, carrier: FaultyCarrier, patience: float) -> RemoteEngine:
        server = SearchServer(carrier, self.address.url, 20, patience)
        return RemoteEngine(self.address, server, OpenSearchDialect("exact", "lucene"))

    def sync(self, engine: Engine, number: int, model: int = 1) -> None:
        options = SyncOptions(locks=self.folder / "locks", allow_shrink=True, source_timeout=None)
        embedder = HashEmbedder(f"hash@{model}")
        sync(Listed("pets", GENERATIONS[number]), engine, embedder, None, options)

    def state(self) -> State:
        """Hash and vector of every document of the live index, as another client sees them."""
        with closing(self.client(FaultyCarrier(self.carrier), 20)) as engine:
            live = engine.live()
            assert live is not None
            return {
                each.document.id: (each.document.content_hash, each.vector.tobytes())
                for each in engine.documents(live[0])
            }


def ingest(shop: ServerShop, engine: Engine, number: int) -> None:
    shop.sync(engine, number)


def swap_model(shop: ServerShop, engine: Engine, number: int) -> None:
    shop.sync(engine, 0, model=number)


def copy(shop: ServerShop, engine: Engine, number: int) -> None:
    with closing(SqliteEngine(shop.folder / f"{number}.db")) as original:
        shop.sync(original, number)
        copy_catalog(original, engine, NullProgress(), shop.folder / "locks")


ACTS: dict[str, Callable[[ServerShop, Engine, int], None]] = {
    "ingest": ingest,
    "model swap": swap_model,
    "copy": copy,
}
"""Each makes one of two states of a catalog, 0 or 1."""


@pytest.fixture
def shop(opensearch_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerShop]:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.2)  # those who died here do not come back
    made = ServerShop(catalog_url(opensearch_url, "opensearch"), tmp_path)
    yield made
    drop(made.client(FaultyCarrier(made.carrier), 20))
    made.carrier.close()


def attempt(
    shop: ServerShop, name: str, number: int, carrier: FaultyCarrier, patience: float
) -> BaseException | None:
    """What is raised; None for success."""
    try:
        ACTS[name](shop, shop.client(carrier, patience), number)
    except (KitpickError, Crash) as error:
        return error
    return None


def is_true(error: KitpickError, found: State, old: State, new: State) -> bool:
    """Whether the error says which state is stored."""
    if "is in place" in str(error):
        return found == new
    return found == old


@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("how", ["unsent", "unanswered", "crash"])
@pytest.mark.parametrize("name", ACTS)
def test_each_request_that_fails_leaves_old_or_new_said_truthfully(
    name: str, how: HowSent, shop: ServerShop
) -> None:
    states = []
    for number in (1, 0):
        assert attempt(shop, name, number, FaultyCarrier(shop.carrier), 20) is None
        states.insert(0, shop.state())
    assert states[0] != states[1]

    goal = 0
    for fail_at in itertools.count(1):
        old, new, goal = states[goal], states[1 - goal], 1 - goal
        carrier = FaultyCarrier(shop.carrier, fail_at, how)

        error = attempt(shop, name, goal, carrier, patience=0)

        found = shop.state()
        where = f"request {fail_at}, {carrier.failed}: {error}"
        if error is None:
            assert found == new, where
        elif isinstance(error, KitpickError):
            assert is_true(error, found, old, new), where
            assert shop.address.url in str(error), where
        else:
            assert found in (old, new), where
        assert attempt(shop, name, goal, FaultyCarrier(shop.carrier), 20) is None, where
        assert shop.state() == new, where
        if not carrier.failed:
            break
    assert fail_at > 10, "so many requests were tried"


@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("how", ["unanswered", "busy"])
@pytest.mark.parametrize("name", ["ingest"])
def test_with_patience_one_request_that_fails_is_not_noticed(
    name: str, how: HowSent, shop: ServerShop
) -> None:
    states = []
    for number in (1, 0):
        assert attempt(shop, name, number, FaultyCarrier(shop.carrier), 20) is None
        states.insert(0, shop.state())
    for fail_at in itertools.count(1):
        carrier = FaultyCarrier(shop.carrier, fail_at, how)
        error = attempt(shop, name, fail_at % 2, carrier, patience=20)
        assert error is None, f"request {fail_at}, {carrier.failed}: {error}"
        assert shop.state() == states[fail_at % 2], f"request {fail_at}, {carrier.failed}"
        if not carrier.failed:
            break
