"""A change of the model: all sources move to a new index, and searches never notice."""

from __future__ import annotations

import numpy as np
import pytest
from shops import HashEmbedder, Shop, api

from kitpick_engines.contract import SearchRequest
from kitpick_ingest.errors import SourceError, SuspiciousShrink

PETS = [api(f"api{number}", f"does {number}") for number in range(10)]
ZOO = [api("show", "shows the lions", source="zoo")]


@pytest.fixture
def stocked(shop: Shop) -> Shop:
    shop.sync(*PETS)
    shop.sync(*ZOO, source="zoo")
    return shop


def test_every_source_moves_to_the_new_model(stocked: Shop) -> None:
    larger = HashEmbedder("larger@1", dimensions=16)

    report = stocked.sync(*PETS, api("new"), embedder=larger)

    assert (report.rebuilt, report.added, report.unchanged, report.embedded) == (11, 1, 10, 12)
    assert (stocked.schema().model, stocked.schema().dimensions) == ("larger@1", 16)
    expected = [*PETS, api("new"), *ZOO]
    assert stocked.state() == {
        document.id: (document.content_hash, larger.of(document).tobytes()) for document in expected
    }


def test_searches_read_the_old_index_until_the_swap(stocked: Shop) -> None:
    seen: list[str] = []

    class Watching(HashEmbedder):
        def encode(self, texts: list[str]) -> np.ndarray:
            seen.append(stocked.schema().model)
            lions = SearchRequest("", stocked.embedder.of(ZOO[0]), 1)
            seen.extend(hit.id for hit in stocked.engine.search(lions))
            return super().encode(texts)

    stocked.sync(*PETS, embedder=Watching("other@1"))

    assert seen == ["hash@1", "zoo/shop/show"]
    assert stocked.schema().model == "other@1"


def test_a_new_text_template_rebuilds_as_well(stocked: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kitpick_ingest.embedder.TEMPLATE_VERSION", 99)

    report = stocked.sync(*PETS)

    assert (report.rebuilt, report.embedded) == (11, 11)
    assert stocked.schema().template == 99


@pytest.mark.parametrize("cached", [False, True])
def test_a_rebuild_that_was_stopped_goes_on_where_it_was(stocked: Shop, cached: bool) -> None:
    if not cached:
        stocked.cache = None

    class Tiring(HashEmbedder):
        def encode(self, texts: list[str]) -> np.ndarray:
            if len(self.texts) >= 16:
                raise KeyboardInterrupt
            return super().encode(texts)

    with pytest.raises(KeyboardInterrupt):
        stocked.sync(*PETS, embedder=Tiring("other@1"), batch=4)
    assert stocked.schema().model == "hash@1"

    report = stocked.sync(*PETS, embedder=HashEmbedder("other@1"))

    assert (report.rebuilt, report.embedded) == (3, 3)
    assert len(stocked.state()) == 11


def test_what_happened_between_two_halves_of_a_rebuild_is_not_lost(stocked: Shop) -> None:
    other = HashEmbedder("other@1")
    tired = HashEmbedder("other@1")
    tired.encode = lambda texts: other.encode(texts) if len(other.texts) < 16 else 1 / 0  # type: ignore[assignment]
    with pytest.raises(ZeroDivisionError):
        stocked.sync(*PETS, embedder=tired, batch=4)

    stocked.sync(*PETS[2:], api("api5", "changed"), api("new"), allow_shrink=True)
    changed = [*PETS[2:5], api("api5", "changed"), *PETS[6:], api("new")]
    stocked.sync(*changed)
    stocked.sync(*changed, embedder=other)

    assert stocked.state() == {
        document.id: (document.content_hash, other.of(document).tobytes()) for document in [*changed, *ZOO]
    }


def test_a_source_that_fails_or_shrinks_does_not_even_begin_a_rebuild(stocked: Shop) -> None:
    other = HashEmbedder("other@1")

    with pytest.raises(SourceError):
        stocked.sync(*PETS, object(), embedder=other)
    with pytest.raises(SuspiciousShrink):
        stocked.sync(embedder=other)

    assert stocked.schema().model == "hash@1"
    assert other.texts == []


def test_going_back_comes_out_of_the_cache(stocked: Shop) -> None:
    before = stocked.state()
    stocked.sync(*PETS, embedder=HashEmbedder("other@1"))

    report = stocked.sync(*PETS)

    assert (report.rebuilt, report.embedded, report.from_cache) == (11, 0, 11)
    assert stocked.state() == before
