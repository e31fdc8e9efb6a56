"""One source synced in parts by several processes, into a real server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from servers import MakeCatalog
from shops import HashEmbedder, Listed, Shop, api

from kitpick_engines.remote.engine import RemoteEngine
from kitpick_ingest.errors import CatalogChanged, NotSharded, SourceBusy
from kitpick_ingest.shards import parse_shard
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sync import SyncOptions, SyncReport, sync

SHARDS = 3
EMBEDDER = HashEmbedder()
Run = Callable[..., SyncReport]


@pytest.fixture
def run(make_engine: MakeCatalog, tmp_path: Path) -> Run:
    """Syncs one shard by a client of its own, as a process of its own would."""
    first = make_engine()

    def run_shard(items: list[Any], number: int, embedder: HashEmbedder = EMBEDDER) -> SyncReport:
        options = SyncOptions(locks=tmp_path, shard=(number, SHARDS))
        return sync(Listed("pets", items), make_engine(first.url), embedder, None, options)

    run_shard.engine = first  # type: ignore[attr-defined]
    return run_shard


def held(run: Run) -> dict[str, str]:
    engine: RemoteEngine = run.engine  # type: ignore[attr-defined]
    live = engine.live()
    assert live is not None
    return dict(engine.hashes(live[0]))


def all_shards(run: Run, items: list[Any]) -> list[SyncReport]:
    with ThreadPoolExecutor(SHARDS) as pool:
        return list(pool.map(lambda number: run(items, number), range(1, SHARDS + 1)))


def test_shards_at_once_hold_what_the_source_yields_and_then_have_nothing_to_do(run: Run) -> None:
    wanted = [api(f"api{n}") for n in range(60)]
    reports = all_shards(run, [*wanted, DeadLetter("pets", "line 7", "unreadable")])
    assert sum(report.added for report in reports) == 60
    assert all(report.added for report in reports)
    assert sum(report.dead_letters for report in reports) == 1, "told once, not by every shard"
    assert held(run) == {each.id: each.content_hash for each in wanted}
    again = all_shards(run, wanted)
    assert sum(report.unchanged for report in again) == 60
    assert not any(report.added or report.changed or report.deleted for report in again)


def test_a_shard_changes_and_deletes_only_its_own(run: Run) -> None:
    all_shards(run, [api(f"api{n}") for n in range(60)])
    newer = [api(f"api{n}", "new") for n in range(50)]
    reports = all_shards(run, newer)
    assert sum(report.changed for report in reports) == 50
    assert sum(report.deleted for report in reports) == 10
    assert held(run) == {each.id: each.content_hash for each in newer}


def test_the_same_shard_is_refused_while_it_is_synced(run: Run) -> None:
    def second() -> None:
        with pytest.raises(SourceBusy, match="pets 1/3: another process"):
            run([], 1)

    run([api("feed"), second], 1)


def test_another_model_needs_a_whole_sync_first(run: Run) -> None:
    all_shards(run, [api("feed")])
    with pytest.raises(CatalogChanged, match="without a shard first"):
        run([api("feed", "new")], 1, HashEmbedder("other@1"))
    assert held(run) == {"pets/shop/feed": api("feed").content_hash}


def test_an_engine_with_one_writer_says_so(shop: Shop) -> None:
    with pytest.raises(NotSharded, match="one writer at a time"):
        shop.sync(api("feed"), shard=(1, 2))


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "-1/2", "1/1001", "1/2/3", "a/b", "1 / 2", "١/٢"])
def test_shards_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not"):
        parse_shard(text)


def test_shards_are_counted_from_one() -> None:
    assert parse_shard("2/8") == (2, 8)
