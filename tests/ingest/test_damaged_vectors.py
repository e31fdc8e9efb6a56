"""The next sync embeds what is damaged again; a copy leaves it out and says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from shops import Shop, api

from kitpick_engines.sqlite import SqliteEngine
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.progress import NullProgress

PETS = [api(f"api{number}", f"does {number}") for number in range(20)]
ZOO = [api("show", source="zoo"), api("hide", source="zoo")]


def halve(folder: Path) -> None:
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def spoil(folder: Path) -> None:
    (file,) = folder.iterdir()
    file.write_bytes(b"\xff" * file.stat().st_size)  # NaN everywhere


def reopened_after(shop: Shop, damage: Callable[[Path], None]) -> Shop:
    shop.engine.close()
    damage(shop.folder / "catalog.db.vectors")
    shop.engine = SqliteEngine(shop.folder / "catalog.db")
    return shop


@pytest.mark.parametrize("damage", [halve, spoil, shutil.rmtree])
@pytest.mark.parametrize("cached", [True, False])
def test_a_sync_of_every_source_mends_everything(
    shop: Shop, damage: Callable[[Path], None], cached: bool
) -> None:
    if not cached:
        shop.cache = None
    shop.sync(*PETS)
    shop.sync(*ZOO, source="zoo")
    whole = shop.state()
    shop = reopened_after(shop, damage)

    pets, zoo = shop.sync(*PETS), shop.sync(*ZOO, source="zoo")

    assert shop.engine.damaged() == {}
    assert shop.state() == whole
    assert pets.changed + zoo.changed == (11 if damage is halve else 22)
    assert shop.sync(*PETS).unchanged == 20


def test_a_source_that_is_synced_leaves_the_damage_of_others_named(shop: Shop) -> None:
    shop.sync(*PETS)
    shop.sync(*ZOO, source="zoo")
    shop = reopened_after(shop, spoil)

    shop.sync(*PETS, api("new"))

    assert shop.engine.damaged() == {"zoo": 2}


def test_a_model_swap_needs_no_old_vector(shop: Shop) -> None:
    shop.sync(*PETS)
    shop = reopened_after(shop, shutil.rmtree)
    shop.embedder.identity = "hash@2"

    shop.sync(*PETS)

    assert shop.engine.damaged() == {}
    assert len(shop.state()) == 20


def test_a_copy_leaves_damaged_documents_out_and_keeps_what_the_target_has(
    shop: Shop, tmp_path: Path
) -> None:
    with closing(SqliteEngine(tmp_path / "copy.db")) as target:
        shop.sync(*PETS[:15])
        copy_catalog(shop.engine, target, NullProgress(), shop.folder / "locks")
        shop.sync(*PETS)
        shop = reopened_after(shop, spoil)

        report = copy_catalog(shop.engine, target, NullProgress(), shop.folder / "locks")

        assert (report.written, report.unchanged, report.deleted) == (0, 15, 0)
        assert len(report.refused) == 5
        assert "damaged in" in report.refused[0]
        assert target.damaged() == {}
