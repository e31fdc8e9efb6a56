"""What was written about APIs: it votes by meaning and by words, and is kept with where it comes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from shelf import Shelf

from kitpick_engines.contract import Filter, Vector
from kitpick_engines.lexical import Terms
from kitpick_rescorers.intents.permitted import PermittedApis
from kitpick_rescorers.intents.words import WordIndex
from kitpick_rescorers.intents.written import (
    Enrichment,
    Nearness,
    NearTexts,
    ShownTo,
    WrittenStore,
    written_votes,
)

EAST, NORTH = np.eye(2, dtype=np.float32)
MODEL = "encoder"
ANYBODY, PUBLIC = Filter(), ShownTo()


@pytest.fixture
def store(tmp_path: Path) -> WrittenStore:
    return WrittenStore(tmp_path / "catalog.enriched")


def near(store: WrittenStore, request: str, vector: Vector, caller: Filter = ANYBODY) -> dict[str, Nearness]:
    found = store.near(request, vector, MODEL, caller)
    return found.of(row for ranking in found.rankings for row in ranking.entries)


def about(api: str, *kept: str) -> Enrichment:
    return Enrichment(api, "digest", "m@host", 1.0, "kept", "What it is for.", kept, kept, PUBLIC)


def test_requests_are_near_to_texts_by_meaning_by_words_and_by_what_all_of_them_have(
    store: WrittenStore,
) -> None:
    store.put(about("mail", "tell the gang", "mail the gang"), [EAST, NORTH], MODEL)
    assert near(store, "zzz", EAST)["mail"] == pytest.approx((0.0, 1.0, 0.5**0.5))
    by_words = near(store, "mail the gang", -EAST - NORTH)["mail"]
    assert 0.5 < by_words.words < 1, "the mean of both texts"
    assert written_votes({"mail": by_words}) == {"mail": pytest.approx(1 / 3)}, "words alone"
    assert written_votes(near(store, "zzz", -EAST)) == {}


def test_the_nearest_has_most_votes_however_far_it_is(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("post", "write home"), [NORTH], MODEL)
    for far in (0.1, 1.0):
        votes = written_votes(near(store, "zzz", far * (EAST + NORTH / 2)))
        assert votes == {"mail": pytest.approx(2 / 3), "post": pytest.approx(2 / 3 * 11 / 12)}


def test_places_far_behind_are_worth_nothing() -> None:
    apis = {f"a{n}": Nearness(0.0, 1 / (1 + n), 0.0) for n in range(200)}
    assert list(written_votes(apis)) == [f"a{n}" for n in range(50)]
    assert written_votes({}) == {}


def test_an_order_counts_by_its_weight_and_not_at_all_without_any() -> None:
    found = {"mail": Nearness(0.9, 0.1, 0.1), "post": Nearness(0.1, 0.9, 0.1)}
    by_words = written_votes(found, Nearness(2.0, 0.0, 0.0))
    assert by_words == {"mail": pytest.approx(1.0), "post": pytest.approx(11 / 12)}
    mostly = written_votes(found, Nearness(1.0, 3.0, 0.0))
    assert mostly["post"] == pytest.approx(3 / 4 + 1 / 4 * 11 / 12)
    assert written_votes(found, Nearness(0.0, 0.0, 0.0)) == {}


def test_writing_more_about_an_api_gains_nothing(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("spam", "tell the gang", "tell the gang ", " tell the gang"), [EAST] * 3, MODEL)
    votes = written_votes(near(store, "tell the gang", EAST))
    assert votes["spam"] == pytest.approx(votes["mail"])


@pytest.mark.parametrize("hidden", [0, 10, 3_000])
def test_texts_about_what_a_caller_may_not_see_take_nobodys_place(hidden: int) -> None:
    apis = [f"hidden{n}" for n in range(hidden)] + [f"api{n}" for n in range(60)]
    nearness = np.linspace(1.0, 0.0, len(apis))
    shown = PermittedApis(Shelf("api"), Filter())
    found = NearTexts(apis, [nearness] * 3).permitted(shown)
    assert list(found) == [f"api{n}" for n in range(50)], "the places that are worth anything"
    assert len(written_votes(found)) == 50


def test_only_what_was_kept_votes_and_all_of_it_is_remembered(store: WrittenStore) -> None:
    entry = Enrichment(
        "mail", "digest", "m@host", 1.0, "kept", "Tells people things.", ("a b", "c d"), ("c d",), PUBLIC
    )
    store.put(entry, [NORTH], MODEL)
    assert near(store, "a b", EAST)["mail"] == (0, 0, 0)
    assert store.entries() == {"mail": entry}
    assert store.entry("mail") == entry
    assert store.entry("post") is None


def test_a_new_enrichment_takes_the_place_of_the_old(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("mail"), [], MODEL)
    assert near(store, "tell the gang", EAST) == {}


def test_all_of_it_can_be_taken_back(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("post", "write home"), [EAST], MODEL)
    assert store.remove(["post"]) == 1
    assert set(store.entries()) == {"mail"}
    assert store.undo() == 1
    assert not list(store.path.parent.iterdir())
    assert near(store, "tell the gang", EAST) == {}
    assert store.undo() == 0
    assert store.entry("mail") is None


def test_the_share_of_words_is_a_cosine_that_rare_words_decide() -> None:
    texts = ["send the invoice to Bob", "send the parcel to Ann", "send the flowers to Eve"]
    index = WordIndex(texts, Terms())
    assert index.near(texts[0], 0.0)[0] == (0, pytest.approx(1.0))
    shares = dict(index.near("where is my invoice? send it", 0.0))
    assert 0 < shares[1] == shares[2] < shares[0] < 1
    assert index.near("parcels", 0.2)[0][0] == 1, "words are stemmed as the engines stem them"
    assert index.near("", 0.0) == index.near("unheard of", 0.0) == []


def test_words_are_as_rare_as_in_the_texts_that_count() -> None:
    texts = ["send the invoice to Bob", "send the parcel to Ann", "an invoice", "invoice and invoice"]
    mine = WordIndex(texts[:2], Terms()).near("send my invoice", 0.0)
    index = WordIndex(texts, Terms())
    for _ in range(2):  # the second time they are remembered
        counted = index.near("send my invoice", 0.0, np.array([True, True, False, False]))
        assert [each for each in counted if each[0] < 2] == mine, "to the last bit"
        assert index.near("send my invoice", 0.0) != counted
    assert len(index.near("send my invoice", 0.0, np.zeros(4, bool))) == 4, "though no text counts"


@pytest.mark.parametrize(
    "hidden", [ShownTo("globex"), ShownTo("acme", ("boss",)), ShownTo("", ("boss",)), None]
)
def test_what_is_written_about_what_a_caller_may_not_see_moves_nothing_they_are_told(
    tmp_path: Path, hidden: ShownTo | None
) -> None:
    """Words of others made those of one's own texts common, and the longest one of all last."""
    caller = Filter(tenant="acme", principals=frozenset({"ann"}))
    told = []
    for others in (0, 1, 40):
        store = WrittenStore(tmp_path / f"{others}.enriched")
        for number in range(others):
            text = f"aardvark invoice {number}"
            store.put(replace(about(f"a{number}", text), shown_to=hidden), [NORTH], MODEL)
        store.put(about("mail", "tell the gang", "send an invoice"), [EAST, NORTH], MODEL)
        private = replace(about("post", "invoice the gang by post"), shown_to=ShownTo("acme", ("ann",)))
        store.put(private, [NORTH], MODEL)
        found = near(store, "send the gang an invoice", EAST, caller)
        told.append({api: found[api] for api in ("mail", "post")})
    assert told[0] == told[1] == told[2]


def test_who_may_see_an_api_can_change(store: WrittenStore) -> None:
    store.put(about("mail", "lunch of the gang"), [EAST], MODEL)
    store.put(replace(about("post", "post to the gang"), shown_to=ShownTo("globex")), [EAST], MODEL)
    before = near(store, "gang", EAST)["mail"]
    store.show_to({"post": PUBLIC, "unknown": PUBLIC})
    assert store.entries()["post"].shown_to == PUBLIC
    assert near(store, "gang", EAST)["mail"] != before
