"""What a sync does to a catalog: add, replace, leave alone, delete, and never touch another source."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shops import Shop, State, api, read_letters

from kitpick_engines.contract import Filter, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError, SuspiciousShrink, WouldBePublic
from kitpick_ingest.progress import LineProgress
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sync import SyncOptions, SyncReport, sync


def numbers(report: SyncReport) -> dict[str, int]:
    """The report's numbers that are not zero."""
    names = ("added", "changed", "unchanged", "deleted", "dead_letters", "embedded", "from_cache", "rebuilt")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def expected_state(shop: Shop, documents: Iterable[ApiDocument]) -> State:
    """Hash and vector of each document, computed without a sync."""
    return {
        document.id: (document.content_hash, shop.embedder.of(document).tobytes()) for document in documents
    }


def test_a_first_sync_makes_the_catalog_searchable(shop: Shop) -> None:
    report = shop.sync(api("feed", "Gives food to an animal"), api("walk", "Takes a dog outside"))

    assert numbers(report) == {"added": 2, "embedded": 2}
    (hit,) = shop.engine.search(SearchRequest("dog", None, 5))
    assert hit.id == "pets/shop/walk"


def test_a_vector_is_the_mean_of_those_of_both_texts(shop: Shop) -> None:
    document = api("feed", "Gives food to an animal")
    shop.sync(document)

    assert shop.state() == expected_state(shop, [document])


def test_a_second_sync_of_the_same_embeds_and_writes_nothing(shop: Shop) -> None:
    documents = [api(f"api{number}", f"does {number}") for number in range(20)]
    shop.sync(*documents)
    shop.embedder.texts.clear()

    report = shop.sync(*documents)

    assert numbers(report) == {"unchanged": 20}
    assert shop.embedder.texts == []
    assert set(report.seconds) == {"read", "total"}


def test_only_what_changed_is_embedded_and_only_what_is_gone_is_deleted(shop: Shop) -> None:
    shop.sync(api("feed", "old"), api("walk"), api("sell"), api("wash"))
    shop.embedder.texts.clear()

    report = shop.sync(api("feed", "new"), api("walk"), api("sell"), api("groom"))

    assert numbers(report) == {"added": 1, "changed": 1, "unchanged": 2, "deleted": 1, "embedded": 2}
    assert sorted(shop.state()) == [f"pets/shop/{name}" for name in ("feed", "groom", "sell", "walk")]
    assert len(shop.embedder.texts) == 2 * 2


def test_a_field_outside_the_text_is_written_without_embedding(shop: Shop) -> None:
    shop.sync(api("feed"))

    report = shop.sync(api("feed", deprecated=True))

    assert numbers(report) == {"changed": 1, "from_cache": 1}
    (hit,) = shop.engine.apis_of_tools(["Animals/shop"], Filter(), 5)
    assert hit.deprecated


def test_a_sync_never_touches_another_sources_documents(shop: Shop) -> None:
    shop.sync(api("feed", source="zoo"), source="zoo")
    before = shop.state()

    shop.sync(api("feed"), api("walk"))
    shop.sync(allow_shrink=True)

    assert shop.state() == before


def test_equal_texts_are_embedded_once(shop: Shop) -> None:
    twin = msgspec.structs.replace(api("feed"), id="pets/other/feed")

    assert numbers(shop.sync(api("feed"), twin)) == {"added": 2, "embedded": 1}


def test_without_a_cache_everything_still_works(shop: Shop) -> None:
    shop.cache = None

    assert numbers(shop.sync(api("feed"))) == {"added": 1, "embedded": 1}


def test_a_deleted_document_that_comes_back_comes_out_of_the_cache(shop: Shop) -> None:
    shop.sync(api("feed"), api("walk"))
    before = shop.state()
    shop.sync(api("feed"))

    report = shop.sync(api("feed"), api("walk"))

    assert numbers(report) == {"added": 1, "unchanged": 1, "from_cache": 1}
    assert shop.state() == before


@pytest.mark.parametrize("left", [0, 1])
def test_a_source_that_lost_more_than_half_stops_before_deleting(shop: Shop, left: int) -> None:
    documents = [api(name) for name in ("feed", "walk", "sell")]
    shop.sync(*documents)
    before = shop.state()

    with pytest.raises(SuspiciousShrink, match=rf"pets: {3 - left} of 3 documents are gone"):
        shop.sync(*documents[:left], api("new"))

    assert shop.state() == before
    assert numbers(shop.sync(*documents[:left], allow_shrink=True))["deleted"] == 3 - left


def test_half_of_the_documents_may_go(shop: Shop) -> None:
    shop.sync(api("feed"), api("walk"))

    assert numbers(shop.sync(api("feed"))) == {"unchanged": 1, "deleted": 1}


def test_an_empty_source_that_held_nothing_is_no_shrink(shop: Shop) -> None:
    assert numbers(shop.sync()) == {}
    assert shop.schema().model == "hash@1"


def test_the_first_document_of_an_id_counts(shop: Shop) -> None:
    report = shop.sync(api("feed", "first"), api("walk"), api("feed", "second"))

    assert numbers(report) == {"added": 2, "dead_letters": 1, "embedded": 2}
    assert shop.state()["pets/shop/feed"][0] == api("feed", "first").content_hash
    (letter,) = read_letters(shop.letters)
    assert letter.position == "document 3: pets/shop/feed"
    assert "duplicate id" in letter.reason
    assert letter.excerpt == "second"


def test_a_duplicate_of_an_unchanged_document_changes_nothing(shop: Shop) -> None:
    shop.sync(api("feed", "first"))

    report = shop.sync(api("feed", "first"), api("feed", "first"), api("feed", "second"))

    assert numbers(report) == {"unchanged": 1, "dead_letters": 2}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"description": "a\0b"}, "NUL"),
        ({"description": "\ud800"}, "UTF-8"),
        ({"definition": "x" * 5_000_000}, "the limit is"),
        ({"description": None}, "wrong type"),
        ({"parameters": (3,)}, "wrong type"),
        ({"tags": {1: object()}}, "wrong type"),
    ],
)
def test_what_no_engine_can_hold_is_a_dead_letter_and_the_version_held_stays(
    shop: Shop, fields: dict[str, Any], reason: str
) -> None:
    shop.sync(api("feed", "good"), api("walk"))

    report = shop.sync(msgspec.structs.replace(api("feed"), **fields), api("walk"), api("sell"))

    assert numbers(report) == {"added": 1, "unchanged": 1, "dead_letters": 1, "embedded": 1}
    assert shop.state()["pets/shop/feed"][0] == api("feed", "good").content_hash
    (letter,) = read_letters(shop.letters)
    assert reason in letter.reason


def test_dead_letters_of_the_source_are_passed_on(shop: Shop) -> None:
    letter = DeadLetter("pets", "pets.json#/paths/~1feed", "no such $ref", "{...}")

    report = shop.sync(api("walk"), letter)

    assert numbers(report) == {"added": 1, "dead_letters": 1, "embedded": 1}
    assert read_letters(shop.letters) == [letter]
    assert report.notes == ("1 entry was left out at pets.json#/paths/~1feed: no such $ref",)


def test_of_many_dead_letters_the_first_is_named_and_all_are_counted(shop: Shop) -> None:
    letters = [DeadLetter("pets", f"pets.json:{line}", f"reason {line}") for line in (3, 5)]

    (note,) = shop.sync(api("walk"), *letters).notes

    assert note == "2 entries were left out, the first at pets.json:3: reason 3"


def test_progress_names_the_phases_with_totals(shop: Shop) -> None:
    stream = io.StringIO()

    shop.sync(api("feed"), api("walk"), progress=LineProgress(stream))

    lines = stream.getvalue().splitlines()
    assert [line.split(" in ")[0] for line in lines] == ["read: 2", "embed: 2", "write: 2"]


def test_many_batches_keep_every_document_with_its_own_vector(shop: Shop) -> None:
    documents = [api(f"api{number}", f"does {number}") for number in range(700)]

    shop.sync(*documents)

    assert shop.state() == expected_state(shop, documents)


contents = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["", "x", "y"]))
steps = st.lists(st.tuples(st.sampled_from(["pets", "zoo"]), contents, st.booleans()), max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_after_any_history_the_catalog_holds_what_each_source_said_last(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, dict[str, str], bool]]
) -> None:
    shop = Shop(tmp_path_factory.mktemp("history"))
    said: dict[str, dict[str, str]] = {"pets": {}, "zoo": {}}
    for source, content, breaks in steps:
        documents = [api(name, text, source) for name, text in content.items()]
        if breaks:
            with pytest.raises(SourceError):
                shop.sync(*documents, object(), source=source, allow_shrink=True)
        else:
            shop.sync(*documents, source=source, allow_shrink=True)
            said[source] = content
    held = [api(name, text, source) for source in said for name, text in said[source].items()]
    assert shop.state() == expected_state(shop, held)
    shop.close()


class Numbered:
    """As many documents as one likes, none of them in memory."""

    name = "pets"

    def __init__(self, count: int) -> None:
        self.count = count

    def read(self) -> Iterator[ApiDocument]:
        for number in range(self.count):
            yield api(f"api{number}", definition="x" * 10_000)


def peak_of_sync(folder: Path, count: int) -> int:
    """Bytes that Python holds at most while it syncs so many documents."""
    shop = Shop(folder)
    shop.embedder.forgets = True
    tracemalloc.start()
    sync(Numbered(count), shop.engine, shop.embedder, shop.cache, SyncOptions(locks=folder, batch=16))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    shop.close()
    return peak


def test_memory_does_not_grow_with_the_catalog(tmp_path: Path) -> None:
    peak_of_sync(tmp_path / "warm", 10)  # what is imported and compiled on first use is counted out
    small = peak_of_sync(tmp_path / "small", 200)
    large = peak_of_sync(tmp_path / "large", 600)

    # The definitions of 400 more have 4 MB; the 64 documents that are read ahead, or not, have 0.64.
    assert large - small < 1_000_000


RESTRICTED = {
    "tenant": {"tenant": "acme"},
    "principals": {"allowed": ("ann",)},
    "both": {"tenant": "acme", "allowed": ("ann", "bob")},
}


@pytest.mark.parametrize("name", RESTRICTED)
def test_restricted_documents_do_not_become_public_by_oversight(shop: Shop, name: str) -> None:
    shop.sync(api("feed", **RESTRICTED[name]), api("walk"))
    before = shop.state()

    with pytest.raises(WouldBePublic, match=r"1 documents .*'pets/shop/feed'.*--tenant, --allow.*--public"):
        shop.sync(api("feed"), api("walk", "changed"))
    assert shop.state() == before

    assert shop.sync(api("feed"), api("walk"), public=True).changed == 1
    assert shop.sync(api("feed"), api("walk")).unchanged == 2


def test_restrictions_may_change_without_a_word_as_long_as_there_are_some(shop: Shop) -> None:
    shop.sync(api("feed", tenant="acme"), api("walk", allowed=("ann",)), api("sell"))
    report = shop.sync(
        api("feed", tenant="globex"), api("walk", allowed=("ann", "bob")), api("sell", tenant="acme")
    )
    assert report.changed == 3


def test_a_lost_part_of_a_restriction_is_refused_too(shop: Shop) -> None:
    shop.sync(api("feed", tenant="acme", allowed=("ann",)))
    for kept in ({"tenant": "acme"}, {"allowed": ("ann",)}):
        with pytest.raises(WouldBePublic):
            shop.sync(api("feed", **kept))


def test_a_restricted_document_that_is_gone_or_moved_is_no_publication(shop: Shop) -> None:
    shop.sync(api("feed", tenant="acme"), api("walk"), api("sell"))
    assert shop.sync(api("walk"), api("sell")).deleted == 1
    assert shop.sync(api("feed"), api("walk"), api("sell")).added == 1
