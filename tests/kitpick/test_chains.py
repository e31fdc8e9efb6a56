"""APIs that need one another, through the front door: ingest, search with the profile, plan, next steps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens, count_tokens
from kitpick.result import SearchResult
from kitpick.settings import Settings
from kitpick_engines.contract import Filter, IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.opening import open_engine
from kitpick_rescorers.packing import token_counter
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.search import MAX_SIBLINGS
from kitpick_rescorers.stages import Complete

DOCUMENTS = (
    ApiDocument(
        "s/music/concerts", "s", "", "music", "concerts", "Concerts where an artist plays.",
        effect=Effect.READ, needs=("artist_id=artist.id~9",),
    ),
    ApiDocument(
        "s/music/search", "s", "", "music", "search", "Finds by words.",
        effect=Effect.READ, gives=("artist.id~9",),
    ),
    ApiDocument(
        "s/music/admin", "s", "", "music", "admin", "Changes an artist.",
        effect=Effect.WRITE, needs=("artist_id=artist.id~9",), allowed=("boss",),
    ),
    ApiDocument("s/sky/weather", "s", "", "sky", "weather", "Where it rains and who plays outside."),
)  # fmt: skip
PROFILE = load_profile("bm25").then(Complete())


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(open_engine(f"sqlite:{tmp_path / 'c.db'}"), Settings()) as opened:
        index = opened.engine.ensure(IndexSchema("m", 2, 1))
        with opened.engine.writing(index) as writer:
            writer.write([IndexedDocument(document, [1.0, 0.0]) for document in DOCUMENTS])
        yield opened


def test_what_no_word_of_the_request_names_is_found_because_it_is_needed(catalog: Catalog) -> None:
    result = catalog.search("concerts where she plays", profile=PROFILE)
    assert [hit.document.api for hit in result.hits][:2] == ["concerts", "search"]
    assert "complete: gives artist_id for concerts" in result.hits[1].reasons
    assert [step.api for step in result.plan] == ["search", "concerts", "weather"]


def test_what_is_drawn_in_stays_within_k_and_budget(catalog: Catalog) -> None:
    def asked(k: int, budget: int | None = None) -> SearchResult:
        return catalog.search("concerts where she plays", k, profile=PROFILE, budget=budget)

    assert [hit.document.api for hit in asked(2).hits] == ["concerts", "search"]
    assert [hit.document.api for hit in asked(1).hits] == ["concerts"]
    room = DefinitionTokens().of([hit.document for hit in asked(2).hits])
    packed = asked(3, room)
    assert [hit.document.api for hit in packed.hits][:2] == ["concerts", "search"]
    counter = token_counter()
    assert sum(count_tokens(each, counter) for each in packed.definitions("openai")) <= room


def test_an_id_that_a_follow_up_refers_to_is_brought(catalog: Catalog) -> None:
    def asked(*said: str) -> list[str]:
        messages = [{"role": "user", "content": text} for text in said]
        return [hit.document.api for hit in catalog.search(messages, profile=PROFILE).hits]

    assert asked("concerts of that artist", "and where is it outside?")[:2] == ["concerts", "search"]
    with_id = asked("concerts of artist 4Z8W4fKeB5YxbusRsdQVPb", "and where is it outside?")
    assert "concerts" in with_id
    assert "search" not in with_id


def test_next_steps_take_what_an_answer_holds_and_are_visible(catalog: Catalog) -> None:
    assert [step.document.api for step in catalog.after("s/music/search")] == ["concerts"]
    boss = Filter(principals=frozenset({"boss"}))
    steps = catalog.after("s/music/search", filter=boss)
    assert {(step.document.api, step.input) for step in steps} == {
        ("concerts", "artist_id"),
        ("admin", "artist_id"),
    }
    assert catalog.after("s/music/unknown") == catalog.after("s/music/admin") == ()


def test_next_steps_of_an_id_that_everything_takes_are_few(catalog: Catalog) -> None:
    takers = [replace(DOCUMENTS[0], id=f"s/music/{n}", api=f"concerts{n}") for n in range(1_500)]
    with catalog.engine.writing(catalog.live()[0]) as writer:
        writer.write([IndexedDocument(document, [1.0, 0.0]) for document in takers])
    assert len(catalog.after("s/music/search")) == 10
    looked_at = len(catalog.after("s/music/search", 10_000))
    assert 0 < looked_at <= 2 * MAX_SIBLINGS, "APIs of its tool, and those elsewhere that speak of it"


def test_a_catalog_without_chains_is_read_and_written(catalog: Catalog, tmp_path: Path) -> None:
    catalog.close()
    with sqlite3.connect(tmp_path / "c.db") as connection:
        connection.execute("ALTER TABLE bodies_1 DROP COLUMN chains")
    connection.close()
    with Catalog(open_engine(f"sqlite:{tmp_path / 'c.db'}"), Settings()) as old:
        found = old.search("concerts where she plays", profile=PROFILE)
        assert [hit.document.api for hit in found.hits] == ["concerts", "weather"]
        name = old.live()[0]
        with old.engine.writing(name) as writer:
            documents = (replace(each, description=each.description + " New.") for each in DOCUMENTS)
            writer.write([IndexedDocument(document, [1.0, 0.0]) for document in documents])
        found = old.search("concerts where she plays", profile=PROFILE)
        assert [hit.document.api for hit in found.hits][:2] == ["concerts", "search"]
