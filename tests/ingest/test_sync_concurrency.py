"""Several syncs of one catalog at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from shops import HashEmbedder, Listed, Shop, api

from kitpick_engines.sqlite import SqliteEngine
from kitpick_ingest.errors import CatalogChanged, SourceBusy
from kitpick_ingest.sync import SyncOptions, sync


def barrier(parties: int) -> Any:
    """An item of several sources that is passed when all of them have come to it."""
    gate = threading.Barrier(parties, timeout=30)
    return gate.wait


@pytest.mark.parametrize("begun", [False, True])
def test_different_sources_synced_at_once_lose_nothing(shop: Shop, begun: bool) -> None:
    names = ["pets", "zoo", "farm", "circus"]
    meet = barrier(len(names))
    wanted = {name: [api(f"api{number}", source=name) for number in range(50)] for name in names}
    if begun:
        for name in names:
            shop.sync(api("api0", "old", name), api("gone", source=name), source=name)

    with ThreadPoolExecutor(len(names)) as pool:
        runs = [pool.submit(shop.sync, *wanted[name], meet, source=name) for name in names]
        reports = [run.result() for run in runs]

    assert [report.added + report.changed for report in reports] == [50] * len(names)
    expected = {document.id: document.content_hash for name in names for document in wanted[name]}
    assert {key: content_hash for key, (content_hash, _) in shop.state().items()} == expected


def test_the_same_source_is_refused_at_once_while_it_is_synced(shop: Shop) -> None:
    def second() -> None:
        with pytest.raises(SourceBusy, match="pets: another process is syncing it"):
            shop.sync(api("feed", "second"))

    shop.sync(api("feed", "first"), second)

    assert shop.state()["pets/shop/feed"][0] == api("feed", "first").content_hash


def test_also_where_the_catalog_goes_by_another_name(shop: Shop) -> None:
    (shop.folder / "link.db").symlink_to(shop.folder / "catalog.db")
    shop.sync(api("feed", "first"))
    other = SqliteEngine(shop.folder / "link.db")

    def second() -> None:
        with pytest.raises(SourceBusy):
            sync(Listed("pets", []), other, shop.embedder, None, SyncOptions(locks=shop.folder / "locks"))

    assert shop.sync(api("feed", "first"), second).unchanged == 1
    live = other.live()
    assert live is not None
    assert [item.document.id for item in other.documents(live[0])] == ["pets/shop/feed"]
    other.close()


def test_or_waits_for_the_other_to_end(shop: Shop) -> None:
    inside, go_on = threading.Event(), threading.Event()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shop.sync, inside.set, go_on.wait, api("feed", "first"))
        assert inside.wait(30)
        second = pool.submit(shop.sync, api("feed", "second"), wait=30.0)
        go_on.set()
        reports = [first.result(), second.result()]

    assert [(report.added, report.changed) for report in reports] == [(1, 0), (0, 1)]


def test_a_model_change_in_the_middle_of_another_sync_is_not_undone(shop: Shop) -> None:
    shop.sync(api("feed"))
    other = HashEmbedder("other@1")

    def move() -> None:
        shop.sync(api("show", source="zoo"), source="zoo", embedder=other)

    with pytest.raises(CatalogChanged, match="was moved to other@1"):
        shop.sync(api("feed", "new"), move)

    assert shop.schema().model == "other@1"
    assert shop.state()["pets/shop/feed"][0] == api("feed").content_hash


def test_a_move_to_the_same_model_meanwhile_is_welcome(shop: Shop) -> None:
    shop.sync(api("feed"))
    other = HashEmbedder("other@1")

    def move() -> None:
        shop.sync(api("show", source="zoo"), source="zoo", embedder=other)

    report = shop.sync(api("feed", "new"), move, embedder=other)

    assert (report.changed, report.rebuilt) == (1, 0)
    assert set(shop.state()) == {"pets/shop/feed", "zoo/shop/show"}
