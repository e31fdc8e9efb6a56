"""Indexes, sessions, and what comes back of what was written."""

from __future__ import annotations

import numpy as np
import pytest
from asking import dense_of, words_of
from catalogs import (
    DIMENSIONS,
    OTHER_SCHEMA,
    SCHEMA,
    fill,
    item,
    unit,
)

from kitpick_engines.contract import Filter, RestrictedDocument, SearchRequest
from kitpick_engines.document import Effect
from kitpick_engines.errors import InvalidDocument, InvalidVector, UnknownIndex


class WritingContract:
    """What every engine does with indexes and sessions."""

    def test_a_new_engine_is_empty(self, engine):
        assert engine.live() is None
        assert engine.stats() is None
        assert engine.search(SearchRequest("weather", unit(1), 5)) == []
        assert engine.neighbours(unit(1), 5, Filter()) == []
        assert engine.apis_of_tools(["c/t"], Filter(), 5) == []
        assert engine.fetch(["s/t/a"], Filter()) == []

    def test_the_first_index_is_live_at_once(self, engine):
        index = engine.ensure(SCHEMA)
        assert engine.live() == (index, SCHEMA)
        assert engine.search(SearchRequest("weather", unit(1), 5)) == []

    def test_ensure_gives_the_same_index_for_the_same_schema(self, engine):
        assert engine.ensure(SCHEMA) == engine.ensure(SCHEMA)

    def test_another_schema_is_built_beside_and_swapped_in(self, engine):
        old = fill(engine, [item("s/t/old")])
        new = fill(engine, [item("s/t/new")], OTHER_SCHEMA)
        assert new != old
        assert engine.live() == (old, SCHEMA)
        assert dense_of(engine, unit(1)) == ["s/t/old"]
        engine.swap(new)
        assert engine.live() == (new, OTHER_SCHEMA)
        assert dense_of(engine, unit(1)) == ["s/t/new"]

    def test_an_index_begun_is_resumed(self, engine):
        fill(engine, [item()])
        begun = fill(engine, [item("s/t/begun")], OTHER_SCHEMA)
        assert engine.ensure(OTHER_SCHEMA) == begun
        assert [name for name, _ in engine.hashes(begun)] == ["s/t/begun"]

    def test_a_swap_drops_the_index_before(self, engine):
        old = fill(engine, [item()])
        engine.swap(fill(engine, [item()], OTHER_SCHEMA))
        with pytest.raises(UnknownIndex):
            list(engine.hashes(old))

    @pytest.mark.parametrize("exists", [False, True])
    def test_an_unknown_index_is_named_in_the_error(self, engine, exists):
        if exists:
            engine.ensure(SCHEMA)
        with pytest.raises(UnknownIndex, match="nope"):
            list(engine.hashes("nope"))
        with pytest.raises(UnknownIndex, match="nope"):
            list(engine.documents("nope"))

    def test_an_unknown_index_cannot_be_written_or_swapped_in(self, engine):
        engine.ensure(SCHEMA)
        with pytest.raises(UnknownIndex, match="nope"), engine.writing("nope"):
            pass
        with pytest.raises(UnknownIndex, match="nope"):
            engine.swap("nope")

    def test_a_document_comes_back_as_it_was_written(self, engine):
        written = item(
            definition='{"name": "é\\u0000",\n "深":  1.0e3, "x": "\U0001f600"}',
            description="Gets\tthings ",
            examples=("do it",),
            tags=("x", "y"),
            version="1",
            successor="s/t/b",
            needs=("artist_id=artist.id~9",),
            gives=("concert.id~9", "venue.id~7"),
            about="For the singers of a choir.",
            effect=Effect.DESTRUCTIVE,
            allowed=("ann",),
            tenant="acme",
        )
        index = fill(engine, [written])
        assert engine.fetch(["s/t/a"], Filter(tenant="acme", principals=frozenset({"ann"}))) == [
            written.document
        ]
        (streamed,) = engine.documents(index)
        assert streamed.document == written.document
        shown = Filter(tenant="acme", principals=frozenset({"ann"}))
        (candidate,) = engine.apis_of_tools([written.document.tool_key], shown, 10)
        assert (candidate.needs, candidate.gives) == (written.document.needs, written.document.gives)
        np.testing.assert_array_equal(streamed.vector, written.vector)

    def test_writing_an_id_again_replaces_the_document(self, engine):
        index = fill(engine, [item(description="weather", allowed=("ann",)), item("s/t/b", unit(0, 1))])
        fill(engine, [item(vector=unit(0, 0, 1), description="flight")])
        assert words_of(engine, "weather", principals=frozenset({"ann"})) == []
        assert words_of(engine, "flight") == ["s/t/a"]
        assert dense_of(engine, unit(0, 0, 1))[0] == "s/t/a"
        assert [name for name, _ in engine.hashes(index)] == ["s/t/a", "s/t/b"]

    def test_the_last_of_equal_ids_in_a_batch_counts(self, engine):
        fill(engine, [item(description="first"), item(vector=unit(0, 1), description="second")])
        (document,) = engine.fetch(["s/t/a"], Filter())
        assert document.description == "second"
        (found,) = engine.neighbours(unit(0, 1), 5, Filter())
        assert found.dense.score == pytest.approx(1)

    def test_deleting_removes_from_both_rankings_and_ignores_unknown_ids(self, engine):
        index = fill(engine, [item(description="weather"), item("s/t/b", description="weather")])
        with engine.writing(index) as writer:
            writer.delete(["s/t/a", "never/seen", "\ud800"])
        assert words_of(engine, "weather") == dense_of(engine, unit(1)) == ["s/t/b"]
        assert engine.fetch(["s/t/a"], Filter()) == []
        assert engine.stats().documents == 1

    def test_in_one_session_later_changes_win(self, engine):
        with engine.writing(engine.ensure(SCHEMA)) as writer:
            writer.write([item("s/t/a"), item("s/t/b")])
            writer.delete(["s/t/a"])
            writer.delete(["s/t/b"])
            writer.write([item("s/t/b", description="again")])
        assert words_of(engine, "again") == dense_of(engine, unit(1)) == ["s/t/b"]

    def test_a_session_shows_nothing_before_its_end(self, engine):
        index = fill(engine, [item("s/t/old")])
        with engine.writing(index) as writer:
            writer.write([item("s/t/new")])
            writer.delete(["s/t/old"])
            assert dense_of(engine, unit(1)) == ["s/t/old"]
        assert dense_of(engine, unit(1)) == ["s/t/new"]

    def test_a_session_that_fails_changes_nothing(self, engine):
        index = fill(engine, [item("s/t/old", description="weather")])
        before = list(engine.hashes(index))

        def fail_half_way() -> None:
            with engine.writing(index) as writer:
                writer.write([item("s/t/new"), item("s/t/old", unit(0, 1))])
                writer.delete(["s/t/old"])
                raise RuntimeError("half-way")

        with pytest.raises(RuntimeError, match="half-way"):
            fail_half_way()
        assert list(engine.hashes(index)) == before
        assert words_of(engine, "weather") == dense_of(engine, unit(1)) == ["s/t/old"]

    @pytest.mark.parametrize(
        "vector",
        [
            np.array([1, 0, np.nan, 0], np.float32),
            np.array([1, 0, np.inf, 0], np.float32),
            np.ones(DIMENSIONS + 1, np.float32),
            np.ones((1, DIMENSIONS), np.float32),
            np.empty(0, np.float32),
        ],
        ids=["nan", "inf", "long", "matrix", "empty"],
    )
    def test_a_bad_vector_is_refused_and_nothing_of_its_batch_kept(self, engine, vector):
        with engine.writing(engine.ensure(SCHEMA)) as writer:
            writer.write([item("s/t/before")])
            with pytest.raises(InvalidVector):
                writer.write([item("s/t/good"), item("s/t/bad", vector)])
            with pytest.raises(InvalidVector):  # also where a later document of the same id is good
                writer.write([item("s/t/bad", vector), item("s/t/bad")])
        assert dense_of(engine, unit(1)) == ["s/t/before"]
        with pytest.raises(InvalidVector):
            engine.search(SearchRequest("", vector, 5))
        with pytest.raises(InvalidVector):
            engine.neighbours(vector, 5, Filter())

    @pytest.mark.parametrize("bad", [{"description": "\ud800"}, {"api": " "}, {"description": "a\0b"}])
    def test_a_bad_document_is_refused_and_nothing_of_its_batch_kept(self, engine, bad):
        with engine.writing(engine.ensure(SCHEMA)) as writer, pytest.raises(InvalidDocument):
            writer.write([item("s/t/good"), item("s/t/bad", **bad)])
        assert engine.stats().documents == 0

    def test_an_empty_batch_and_an_empty_session_do_nothing(self, engine):
        index = fill(engine, [])
        with engine.writing(index):
            pass
        assert engine.stats().documents == 0

    def test_hashes_are_those_of_the_documents_of_one_source_or_all_by_id(self, engine):
        b, a, c = item("x/t/b", source="x"), item("x/t/a", source="x"), item("y/t/c", source="y")
        index = fill(engine, [b, c, a])
        pairs = [(each.document.id, each.document.content_hash) for each in (a, b, c)]
        assert list(engine.hashes(index)) == pairs
        assert list(engine.hashes(index, "x")) == pairs[:2]
        assert list(engine.hashes(index, "z")) == []

    def test_what_not_everybody_may_see_is_listed_by_source(self, engine):
        index = fill(
            engine,
            [
                item("x/t/d", source="x", tenant="acme", allowed=("ann", "bob")),
                item("x/t/a", source="x", allowed=("ann",)),
                item("x/t/b", source="x"),
                item("x/t/c", source="x", tenant="acme"),
                item("y/t/e", source="y", tenant="acme"),
            ],
        )
        assert list(engine.restricted(index, "x")) == [
            RestrictedDocument("x/t/a", "", limited=True),
            RestrictedDocument("x/t/c", "acme", limited=False),
            RestrictedDocument("x/t/d", "acme", limited=True),
        ]
        assert list(engine.restricted(index, "z")) == []
        with pytest.raises(UnknownIndex):
            list(engine.restricted("none", "x"))

    def test_documents_are_streamed_in_the_order_of_ids_whoever_may_see_them(self, engine):
        written = [item(f"s/t/{n:02}", unit(n + 1, 1), allowed=("ann",), tenant="acme") for n in range(30)]
        index = fill(engine, reversed(written))
        streamed = list(engine.documents(index))
        assert [each.document for each in streamed] == [each.document for each in written]
        np.testing.assert_array_equal(
            np.stack([each.vector for each in streamed]), np.stack([each.vector for each in written])
        )

    def test_stats_say_when_something_was_changed_last(self, engine):
        index = fill(engine, [item("s/t/a")])
        first = engine.stats().changed
        with engine.writing(index):
            pass
        assert engine.stats().changed == first, "a session without a change"
        fill(engine, [item("s/t/b")])
        assert engine.stats().changed >= first > 0

    def test_stats_count_by_source(self, engine):
        index = fill(
            engine, [item("x/t/a", source="x"), item("x/t/b", source="x"), item("y/t/c", source="y")]
        )
        stats = engine.stats()
        assert (stats.index, stats.schema, stats.documents) == (index, SCHEMA, 3)
        assert stats.by_source == {"x": 2, "y": 1}
        assert stats.bytes > 0
