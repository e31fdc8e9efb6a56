"""What was written about APIs: it votes by meaning and by words, and is kept with where it comes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kitpick_engines.intents.votes import Voting
from kitpick_engines.intents.written import Enrichment, WordIndex, WrittenStore, WrittenWeights
from kitpick_engines.lexical.words import Terms

EAST, NORTH = np.eye(2, dtype=np.float32)
MODEL = "encoder"


@pytest.fixture
def store(tmp_path: Path) -> WrittenStore:
    return WrittenStore(tmp_path / "catalog.enriched", Voting(), WrittenWeights())


def about(api: str, *kept: str) -> Enrichment:
    return Enrichment(api, "digest", "m@host", 1.0, "kept", "What it is for.", kept, kept)


def test_texts_near_by_meaning_and_by_words_vote_for_their_api(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang", "mail the gang"), [EAST, NORTH], MODEL)
    by_meaning = store.votes("zzz", EAST, MODEL)
    assert by_meaning == {"mail": pytest.approx(WrittenWeights().vectors)}
    by_words = store.votes("mail the gang", -EAST - NORTH, MODEL)
    assert by_words == {"mail": pytest.approx(WrittenWeights().words)}
    assert store.votes("zzz", -EAST, MODEL) == {}


def test_writing_more_about_an_api_gains_nothing(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("spam", "tell the gang", "tell the whole gang", "tell a gang"), [EAST] * 3, MODEL)
    votes = store.votes("tell the gang", EAST, MODEL)
    assert votes["spam"] == pytest.approx(votes["mail"])


def test_only_what_was_kept_votes_and_all_of_it_is_remembered(store: WrittenStore) -> None:
    entry = Enrichment(
        "mail", "digest", "m@host", 1.0, "kept", "Tells people things.", ("a b", "c d"), ("c d",)
    )
    store.put(entry, [NORTH], MODEL)
    assert store.votes("a b", EAST, MODEL) == {}
    assert store.entries() == {"mail": entry}


def test_a_new_enrichment_takes_the_place_of_the_old(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("mail"), [], MODEL)
    assert store.votes("tell the gang", EAST, MODEL) == {}


def test_all_of_it_can_be_taken_back(store: WrittenStore) -> None:
    store.put(about("mail", "tell the gang"), [EAST], MODEL)
    store.put(about("post", "write home"), [EAST], MODEL)
    assert store.remove(["post"]) == 1
    assert set(store.entries()) == {"mail"}
    assert store.undo() == 1
    assert not list(store.path.parent.iterdir())
    assert store.votes("tell the gang", EAST, MODEL) == {}
    assert store.undo() == 0


def test_the_share_of_words_is_a_cosine_that_rare_words_decide() -> None:
    texts = ["send the invoice to Bob", "send the parcel to Ann", "send the flowers to Eve"]
    index = WordIndex(texts, Terms())
    assert index.near(texts[0], 0.0)[0] == (0, pytest.approx(1.0))
    shares = dict(index.near("where is my invoice? send it", 0.0))
    assert 0 < shares[1] == shares[2] < shares[0] < 1
    assert index.near("parcels", 0.2)[0][0] == 1, "words are stemmed as the engines stem them"
    assert index.near("", 0.0) == index.near("unheard of", 0.0) == []
