"""Copies between engines: everything arrives, vectors bit by bit, and only what differs is written."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from shops import HashEmbedder, Shop, api

from toolrank_engines.contract import IndexSchema
from toolrank_engines.errors import SchemaMismatch
from toolrank_engines.sqlite import SqliteEngine
from toolrank_ingest.copying import CopyReport, copy_catalog
from toolrank_ingest.errors import EmptySource
from toolrank_ingest.progress import NullProgress


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
