"""A full update every night, killed half-way, in a server: what room it takes, and that no night adds to it.

KITPICK_GROWTH_DOCUMENTS sets how many documents there are; `-s` prints the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress

import pytest
from half_update_process import WIDE, update
from servers import MakeCatalog
from sizes import sized

from kitpick_engines.contract import Filter, IndexedDocument
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote import lease
from kitpick_engines.remote.engine import RemoteEngine

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.sweep, pytest.mark.timeout(900)]
DOCUMENTS = int(sized("KITPICK_GROWTH_DOCUMENTS", 1_024, 20_000))
NIGHTS = 3


def size(engine: RemoteEngine, index: str) -> tuple[int, int]:
    """Bytes of the index, its segments and what the server keeps to replay; and how many documents it holds.

    The server gives back the room of what was deleted in its own time: the bytes differ from run to run.
    """
    engine.server.call("POST", f"/{index}/_flush?force=true&wait_if_ongoing=true")
    total = engine.server.call("GET", f"/{index}/_stats/store,translog,docs")["_all"]["total"]
    stored = int(total["store"]["size_in_bytes"]) + int(total["translog"]["size_in_bytes"])
    return stored, int(total["docs"]["count"])


def finish(engine: RemoteEngine, batches: list[Sequence[IndexedDocument]]) -> str:
    index = engine.ensure(WIDE)
    with engine.writing(index) as writer:
        for batch in batches:
            writer.write(batch)
    return index


def die_half_way(engine: RemoteEngine, index: str, night: int) -> AbstractContextManager[object]:
    """What a killed process leaves: documents of a session that ends no sooner than what is returned."""
    batches = update(night, DOCUMENTS)
    session = engine.writing(index)
    writer = session.__enter__()
    for batch in batches[: len(batches) // 2]:
        writer.write(batch)
    engine.server.call("POST", f"/{index}/_refresh")
    return session


def let_go(session: AbstractContextManager[object]) -> None:
    """Ends what lost its turn long ago: it finds that it did."""
    error = RuntimeError("killed")
    with suppress(EngineUnavailable):
        session.__exit__(RuntimeError, error, None)


def test_nights_that_are_killed_half_way_do_not_add_up(
    make_engine: MakeCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next night waits until the killed one has been silent for so long that it lost its turn."""
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    engine = make_engine()
    index = finish(engine, update(0, DOCUMENTS))
    fresh, nights, killed = size(engine, index), [], []
    for night in range(1, NIGHTS + 1):
        killed.append(die_half_way(make_engine(engine.url), index, night))
        nights.append(size(engine, index))
    finish(engine, update(NIGHTS + 1, DOCUMENTS))
    for session in killed:
        let_go(session)
    done = size(engine, index)
    print(
        f"{DOCUMENTS:,} documents, bytes and what is held: fresh {fresh}, killed {nights}, a whole one {done}"
    )
    room, held = zip(*nights, done, strict=True)
    assert max(room) < 5.5 * fresh[0], "the room to plan for, whenever the server merges"
    assert max(held[:-1]) <= 1.5 * fresh[1], "half a night: those before it are gone"
    assert held[-1] <= 2 * fresh[1], "the last night and what it replaced"
    stats = engine.stats()
    assert stats is not None
    assert stats.documents == DOCUMENTS
    (found,) = engine.fetch(["s/t/1"], Filter())
    assert found.description.startswith(f"night {NIGHTS + 1}")
