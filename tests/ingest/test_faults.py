"""Every operation on the disk fails once: what is stored is the old or new state, and the report is true.

An error that is reported means the old state, unless it says otherwise; success means the new one; a process
that stops leaves either. The next run, on a disk that works, ends where an undisturbed one would have ended,
and leaves nothing lying about.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from faults import Crash, FaultyDisk, How
from shops import Shop, api
from sizes import LARGE

from kitpick_engines.sqlite import SqliteEngine, SqliteSettings
from kitpick_foundation.disk import Disk
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.progress import NullProgress

EAGER = SqliteSettings(compact_above=0.2, compact_from=4)
BEFORE = [api("feed", "old"), api("walk"), api("sell"), api("groom"), api("wash")]
AFTER = [api("feed", "new"), api("walk", "further"), api("sell"), api("adopt", allowed=("ann",))]


class Act(NamedTuple):
    """Something that changes a catalog; `state` is what may be old or new."""

    prepare: Callable[[Shop], None]
    run: Callable[[Shop], object]
    state: Callable[[Shop], object] = Shop.state


def stock(shop: Shop) -> None:
    shop.sync(*BEFORE, source_timeout=None)


def ingest(shop: Shop) -> object:
    return shop.sync(*AFTER, allow_shrink=True, source_timeout=None)


def swap_model(shop: Shop) -> object:
    shop.embedder.identity = "hash@2"
    return shop.sync(*BEFORE, source_timeout=None, batch=3)


def copy(shop: Shop) -> object:
    with closing(SqliteEngine(shop.folder / "original.db")) as original:
        return copy_catalog(original, shop.engine, NullProgress(), shop.folder / "locks")


def stock_both(shop: Shop) -> None:
    ingest(shop)
    with closing(SqliteEngine(shop.folder / "original.db")) as original:
        copy_catalog(shop.engine, original, NullProgress(), shop.folder / "locks")
    stock_again(shop)


def stock_again(shop: Shop) -> None:
    shop.sync(*BEFORE, source_timeout=None, public=True)


ACTS = {
    "first ingest": Act(lambda _: None, ingest),
    "ingest": Act(stock, ingest),
    "model swap": Act(stock, swap_model),
    "copy": Act(stock_both, copy),
}


def closed(shop: Shop) -> None:
    with suppress(Crash):
        shop.close()


def attempt(act: Act, folder: Path, disk: Disk) -> BaseException | None:
    """What is raised; None for success."""
    shop = None
    try:
        shop = Shop(folder, disk, EAGER)
        act.run(shop)
    except (KitpickError, Crash) as error:
        return error
    finally:
        if shop is not None:
            closed(shop)
    return None


def looked_at(act: Act, folder: Path) -> object:
    with closing(Shop(folder, FaultyDisk(), EAGER)) as shop:
        assert shop.engine.damaged() == {}
        return act.state(shop)


def leftovers(folder: Path) -> int:
    """Files of vectors that nothing refers to, after the next session has had its chance to remove them."""
    files = folder / "catalog.db.vectors"
    if len(list(files.iterdir())) > 1:
        with closing(Shop(folder, FaultyDisk(), EAGER)) as shop:
            shop.sync(api("show", source="zoo"), source="zoo", source_timeout=None)
    return len(list(files.iterdir())) - 1


def tried(operations: int, how: How) -> range:
    """Numbers of the operations that fail: all of them for a release, every third in any other run."""
    return range(1, operations + 1) if LARGE else range(1 + (how == "crash"), operations + 1, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("how", ["error", "crash"])
@pytest.mark.parametrize("name", ACTS)
def test_each_operation_that_fails_leaves_old_or_new_said_truthfully(
    name: str, how: How, tmp_path: Path
) -> None:
    act = ACTS[name]
    base = tmp_path / "base"
    with closing(Shop(base, FaultyDisk(), EAGER)) as shop:
        act.prepare(shop)
    shutil.copytree(base, tmp_path / "goal")
    whole = FaultyDisk()
    assert attempt(act, tmp_path / "goal", whole) is None
    old = looked_at(act, base)
    new = looked_at(act, tmp_path / "goal")
    assert old != new
    assert len(whole.operations) > 15

    for number in tried(len(whole.operations), how):
        folder = tmp_path / str(number)
        shutil.copytree(base, folder)
        disk = FaultyDisk(number, how)

        error = attempt(act, folder, disk)

        found = looked_at(act, folder)
        where = f"operation {number}, {disk.failed}: {error}"
        if error is None:
            assert found == new, where
        elif isinstance(error, KitpickError):
            assert found == (new if "is in place" in str(error) else old), where
        else:
            assert found in (old, new), where
        assert attempt(act, folder, FaultyDisk()) is None, where
        assert looked_at(act, folder) == new, where
        assert not list(folder.glob("*.part")), where
        assert leftovers(folder) == 0, where
        shutil.rmtree(folder)
