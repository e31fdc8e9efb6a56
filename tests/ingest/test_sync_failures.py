"""Whatever fails, and whenever: a typed error that says so, and a catalog as it was before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import pytest
from shops import HashEmbedder, Shop, api, read_letters

from kitpick_engines.errors import EngineUnavailable
from kitpick_foundation.errors import MissingExtra
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.errors import InvalidEmbedding, LocalWriteFailed, SourceError
from kitpick_ingest.progress import Advance, NullProgress
from kitpick_ingest.source import DeadLetter


@pytest.fixture
def stocked(shop: Shop) -> Shop:
    """A catalog of three documents of `pets` and one of `zoo`."""
    shop.sync(api("feed", "old"), api("walk"), api("sell"))
    shop.sync(api("show", source="zoo"), source="zoo")
    return shop


def raising(error: BaseException) -> Callable[[], None]:
    """An item of a source that raises when its turn comes."""

    def stop() -> None:
        raise error

    return stop


@contextmanager
def unchanged(shop: Shop) -> Iterator[None]:
    """The catalog holds the same before and after, in the same index."""
    before, index = shop.state(), shop.engine.live()
    yield
    assert (shop.state(), shop.engine.live()) == (before, index)


@pytest.mark.parametrize("timeout", [None, 30.0])
@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (SourceError("pets.json", "is no JSON"), SourceError, "pets.json: is no JSON"),
        (KeyError("paths"), SourceError, "pets: stopped with KeyError: 'paths'"),
        (RecursionError("too deep"), SourceError, "stopped with RecursionError"),
        (MissingExtra("aws", "reading AWS models"), MissingExtra, "pip install"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_source_that_fails_in_the_middle_changes_nothing(
    stocked: Shop,
    error: BaseException,
    expected: type[BaseException],
    message: str | None,
    timeout: float | None,
) -> None:
    with unchanged(stocked), pytest.raises(expected, match=message):
        stocked.sync(api("feed", "new"), api("groom"), raising(error), source_timeout=timeout)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (api("feed", source="zoo"), "of source 'zoo'"),
        (
            msgspec.structs.replace(api("feed"), id="zoo/shop/feed"),
            "does not begin with the name",
        ),
        (msgspec.structs.replace(api("feed"), id="pets"), "does not begin with the name"),
        ({"id": "pets/shop/feed"}, "yielded a dict instead of a document"),
        (None, "yielded a NoneType"),
    ],
)
def test_a_source_that_yields_what_is_not_its_own_is_refused(stocked: Shop, item: Any, message: str) -> None:
    with unchanged(stocked), pytest.raises(SourceError, match=message):
        stocked.sync(api("feed", "new"), item)


def test_a_source_that_hangs_is_given_up(stocked: Shop) -> None:
    never = threading.Event()

    with unchanged(stocked), pytest.raises(SourceError, match=r"yielded nothing for 0\.2 s"):
        stocked.sync(api("feed", "new"), never.wait, source_timeout=0.2)
    never.set()


def test_dead_letters_before_a_failure_are_published(stocked: Shop) -> None:
    letter = DeadLetter("pets", "line 7", "no name")

    with pytest.raises(SourceError):
        stocked.sync(letter, raising(ValueError()))

    assert read_letters(stocked.letters) == [letter]


class Spoiled(HashEmbedder):
    """Vectors that some function spoils."""

    def __init__(self, spoil: Callable[[Any], Any]) -> None:
        super().__init__()
        self.encode = lambda texts: spoil(HashEmbedder.encode(self, texts))  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda vectors: vectors * np.nan, "not finite"),
        (lambda vectors: vectors * np.inf, "not finite"),
        (lambda vectors: vectors * 2, "not of length 1"),
        (lambda vectors: vectors * 0, "not of length 1"),
        (lambda vectors: vectors[:, :3], r"shape \(4, 3\), expected \(4, 8\)"),
        (lambda vectors: vectors[1:], r"shape \(3, 8\), expected \(4, 8\)"),
    ],
)
def test_an_embedder_that_returns_no_unit_vectors_is_refused(
    stocked: Shop, spoil: Callable[[Any], Any], message: str
) -> None:
    items = [api("feed", "new"), api("walk"), api("sell"), api("groom")]

    with unchanged(stocked), pytest.raises(InvalidEmbedding, match=message):
        stocked.sync(*items, embedder=Spoiled(spoil))

    assert stocked.sync(*items).embedded == 2  # nothing of it went into the cache


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("out of memory")])
def test_an_embedder_that_raises_changes_nothing(stocked: Shop, error: BaseException) -> None:
    with unchanged(stocked), pytest.raises(type(error)):
        stocked.sync(api("feed", "new"), api("walk"), embedder=Spoiled(lambda _: raising(error)()))


class Interrupting(NullProgress):
    """Ctrl-C in the middle of one phase."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Advance]:
        def advance(count: int) -> None:
            if name == self._phase:
                raise KeyboardInterrupt

        yield advance


@pytest.mark.parametrize("phase", ["read", "embed", "write"])
def test_an_interrupt_in_any_phase_leaves_the_state_before(stocked: Shop, phase: str) -> None:
    items = [api("feed", "new"), api("walk"), api("groom")]

    with unchanged(stocked), pytest.raises(KeyboardInterrupt):
        stocked.sync(*items, progress=Interrupting(phase))

    report = stocked.sync(*items)
    assert (report.added, report.changed, report.deleted) == (1, 1, 1)


def test_a_cache_that_cannot_be_written_is_done_without(shop: Shop) -> None:
    (shop.folder / "file").write_text("")
    shop.cache = EmbeddingCache(shop.folder / "file" / "embeddings.db")

    report = shop.sync(api("feed"))

    assert (report.added, report.embedded) == (1, 1)
    (note,) = report.notes
    assert "no embedding cache" in note


def test_a_damaged_cache_is_replaced_in_the_middle_of_a_sync(shop: Shop) -> None:
    path = shop.folder / "damaged.db"
    shop.cache = EmbeddingCache(path)
    shop.sync(api("feed"))
    shop.cache.close()
    path.write_bytes(b"no database " * 1000)

    report = shop.sync(api("feed"), api("walk"))

    assert (report.added, report.embedded) == (1, 1)
    (note,) = report.notes
    assert "begun anew" in note
    assert shop.cache.get([], 8) == {}


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_while_planning_changes_nothing(stocked: Shop) -> None:
    large = [api(f"large{number}", definition="x" * 3_000_000) for number in range(10)]

    with unchanged(stocked), pytest.raises(LocalWriteFailed, match="temporary file"):
        stocked.sync(*large)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_while_writing_changes_nothing(stocked: Shop) -> None:
    large = [api("feed"), api("walk"), api("large", definition="x" * 3_000_000)]

    with unchanged(stocked), pytest.raises(EngineUnavailable):
        stocked.sync(*large)


def test_a_place_where_nothing_can_be_written_is_named(stocked: Shop) -> None:
    stocked.letters = stocked.folder / "catalog.db" / "dead.jsonl"

    with unchanged(stocked), pytest.raises(LocalWriteFailed, match="dead-letter file"):
        stocked.sync(api("feed", "new"))


def test_vectors_of_a_failed_sync_are_not_computed_again(shop: Shop) -> None:
    items = [api(f"api{number}") for number in range(300)]
    with pytest.raises(KeyboardInterrupt):
        shop.sync(*items, progress=Interrupting("write"))

    report = shop.sync(*items)

    assert (report.embedded, report.from_cache) == (0, 300)
    assert shop.state()["pets/shop/api7"][1] == shop.embedder.of(items[7]).tobytes()
