"""Copies between engines: everything arrives, vectors bit by bit, and only what differs is written."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from shops import HashEmbedder, Shop, api

from kitpick_engines.contract import IndexSchema
from kitpick_engines.errors import SchemaMismatch
from kitpick_engines.sqlite import SqliteEngine
from kitpick_ingest.copies import CopyReport, copy_catalog
from kitpick_ingest.errors import EmptySource
from kitpick_ingest.progress import NullProgress


def copy(shop: Shop, target: SqliteEngine) -> CopyReport:
    return copy_catalog(shop.engine, target, NullProgress(), shop.folder / "locks")


def held(engine: SqliteEngine) -> dict[str, tuple[str, bytes]]:
    index, _ = engine.live()
    return {
        each.document.id: (each.document.content_hash, each.vector.tobytes())
        for each in engine.documents(index)
    }


@pytest.fixture
def target(tmp_path: Path):
    with closing(SqliteEngine(tmp_path / "copy.db")) as engine:
        yield engine


def test_a_copy_equals_the_original_and_embeds_nothing(shop: Shop, target: SqliteEngine) -> None:
    shop.sync(*(api(f"api{number}") for number in range(600)))
    embedded = len(shop.embedder.texts)
    report = copy(shop, target)
    assert (report.written, report.unchanged, report.deleted) == (600, 0, 0)
    assert held(target) == shop.state()
    assert target.live()[1] == shop.engine.live()[1]
    assert len(shop.embedder.texts) == embedded


def test_a_second_copy_writes_only_what_differs(shop: Shop, target: SqliteEngine) -> None:
    shop.sync(api("kept"), api("changed", "old"), api("gone"))
    copy(shop, target)
    shop.sync(api("kept"), api("changed", "new"), api("added"))
    report = copy(shop, target)
    assert (report.written, report.unchanged, report.deleted) == (2, 1, 1)
    assert held(target) == shop.state()


def test_an_empty_source_is_no_order_to_delete(shop: Shop, target: SqliteEngine) -> None:
    with pytest.raises(EmptySource, match="nothing to copy"):
        copy(shop, target)
    assert target.live() is None


def test_a_target_of_another_model_is_left_alone(shop: Shop, target: SqliteEngine) -> None:
    shop.sync(api("feed"))
    target.ensure(IndexSchema("other@1", HashEmbedder().dimensions, 1))
    with pytest.raises(SchemaMismatch, match="another name"):
        copy(shop, target)
    assert target.stats().documents == 0


def test_vectors_arrive_bit_by_bit(shop: Shop, target: SqliteEngine) -> None:
    shop.sync(api("feed"))
    copy(shop, target)
    (copied,), (original,) = (list(e.documents(e.live()[0])) for e in (target, shop.engine))
    np.testing.assert_array_equal(copied.vector, original.vector)


def test_copies_during_an_ingest_hold_what_was_committed_before_or_after(shop: Shop, tmp_path: Path) -> None:
    shop.sync(*(api(f"api{number}", "0") for number in range(100)))
    states = [shop.state()]
    done = threading.Event()

    def ingest() -> None:
        for version in range(1, 6):
            shop.sync(*(api(f"api{number}", f"{version}") for number in range(100)))
            states.append(shop.state())
        done.set()

    thread = threading.Thread(target=ingest)
    thread.start()
    copies = []
    while not done.is_set():
        with closing(SqliteEngine(tmp_path / f"{len(copies)}.db")) as target:
            copy(shop, target)
            copies.append(held(target))
    thread.join()
    assert len(copies) > 1
    assert all(each in states for each in copies)


def test_a_sync_after_a_copy_back_brings_the_catalog_up_to_date(shop: Shop, target: SqliteEngine) -> None:
    shop.sync(api("kept"), api("changed", "old"), api("gone"))
    copy(shop, target)
    shop.sync(api("kept"), api("changed", "new"), api("added"))
    state = shop.state()
    copy_catalog(target, shop.engine, NullProgress(), shop.folder / "locks")

    report = shop.sync(api("kept"), api("changed", "new"), api("added"))

    assert (report.added, report.changed, report.deleted, report.embedded) == (1, 1, 1, 0)
    assert shop.state() == state
