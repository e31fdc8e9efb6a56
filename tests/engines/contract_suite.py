"""What every engine must do. A test module subclasses `EngineContract` and gives it a `make_engine` fixture:
a function without arguments that returns a new, empty engine, different at every call, closed by the fixture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from catalogs import (
    DIMENSIONS,
    OTHER_SCHEMA,
    SCHEMA,
    WORDS,
    document,
    fill,
    filters,
    is_visible,
    item,
    items,
    nearest_ids,
    unit,
    vectors,
)
from hypothesis import HealthCheck, given, settings

from toolrank_engines.contract import Engine, Filter, IndexedDocument, SearchRequest
from toolrank_engines.document import Effect
from toolrank_engines.errors import InvalidDocument, InvalidVector, UnknownIndex

MakeEngine = Callable[[], Engine]
EVERYTHING = Filter(principals=frozenset({"ann", "bob", "ops"}))

property_test = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def words_of(engine: Engine, text: str, **of_filter: object) -> list[str]:
    """Ids of the lexical ranking, in its order."""
    found = engine.search(SearchRequest(text, None, 100, Filter(**of_filter)))
    assert all(candidate.dense is None for candidate in found)
    assert [candidate.lexical.rank for candidate in found] == list(range(1, len(found) + 1))
    return [candidate.id for candidate in found]


def dense_of(engine: Engine, vector: np.ndarray, size: int = 100, **of_filter: object) -> list[str]:
    """Ids of the dense ranking, in its order."""
    found = engine.search(SearchRequest("", vector, size, Filter(**of_filter)))
    assert all(candidate.lexical is None for candidate in found)
    assert [candidate.dense.rank for candidate in found] == list(range(1, len(found) + 1))
    return [candidate.id for candidate in found]


def ids(found: list) -> list[str]:
    return [each.id for each in found]


class EngineContract:
    """Inherited by the tests of each engine."""

    @pytest.fixture
    def engine(self, make_engine: MakeEngine) -> Engine:
        return make_engine()

    # Indexes

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

    # Writing

    def test_a_document_comes_back_as_it_was_written(self, engine):
        written = item(
            definition='{"name": "é\\u0000",\n "深":  1.0e3, "x": "\U0001f600"}',
            description="Gets\tthings ",
            examples=("do it",),
            tags=("x", "y"),
            version="1",
            successor="s/t/b",
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

    def test_documents_are_streamed_in_the_order_of_ids_whoever_may_see_them(self, engine):
        written = [item(f"s/t/{n:02}", unit(n + 1, 1), allowed=("ann",), tenant="acme") for n in range(30)]
        index = fill(engine, reversed(written))
        streamed = list(engine.documents(index))
        assert [each.document for each in streamed] == [each.document for each in written]
        np.testing.assert_array_equal(
            np.stack([each.vector for each in streamed]), np.stack([each.vector for each in written])
        )

    def test_stats_count_by_source(self, engine):
        index = fill(
            engine, [item("x/t/a", source="x"), item("x/t/b", source="x"), item("y/t/c", source="y")]
        )
        stats = engine.stats()
        assert (stats.index, stats.schema, stats.documents) == (index, SCHEMA, 3)
        assert stats.by_source == {"x": 2, "y": 1}
        assert stats.bytes > 0

    # Rankings

    def test_a_candidate_tells_both_of_its_places(self, engine):
        fill(
            engine,
            [
                item("s/t/both", unit(1), api="getWeather", deprecated=True, effect=Effect.READ),
                item("s/t/dense", unit(1, 1), api="other"),
                item(
                    "s/t/words", unit(0, 1), api="other", description="some long text that names the weather"
                ),
            ],
        )
        found = engine.search(SearchRequest("weather", unit(1), 2))
        assert ids(found) == ["s/t/both", "s/t/dense", "s/t/words"]
        both, dense, words = found
        assert (both.lexical.rank, both.dense.rank) == (1, 1)
        assert both.dense.score == pytest.approx(1)
        assert both.lexical.score > words.lexical.score > 0
        assert (dense.lexical, dense.dense.rank) == (None, 2)
        assert (words.lexical.rank, words.dense) == (2, None)
        assert (both.category, both.tool, both.api, both.tool_key) == ("c", "t", "getWeather", "c/t")
        assert (both.deprecated, both.effect) == (True, Effect.READ)
        assert "get Weather" in both.text
        assert both.vector.dtype == np.float32
        np.testing.assert_array_equal(both.vector, unit(1))

    def test_an_empty_text_and_a_missing_vector_leave_their_ranking_out(self, engine):
        fill(engine, [item(description="weather")])
        assert words_of(engine, "weather") == ["s/t/a"]
        assert dense_of(engine, unit(1)) == ["s/t/a"]
        assert engine.search(SearchRequest("", None, 5)) == []

    @pytest.mark.parametrize("size", [0, -1])
    def test_size_zero_finds_nothing(self, engine, size):
        fill(engine, [item(description="weather")])
        assert engine.search(SearchRequest("weather", unit(1), size)) == []
        assert engine.neighbours(unit(1), size, Filter()) == []
        assert engine.apis_of_tools(["c/t"], Filter(), size) == []

    def test_a_size_beyond_the_catalog_finds_all(self, engine):
        fill(engine, [item(f"s/t/{n}", description="weather") for n in range(3)])
        assert len(engine.search(SearchRequest("weather", unit(1), 10_000))) == 3

    def test_equal_scores_are_ordered_by_id_also_where_the_list_is_cut(self, engine):
        names = [f"s/t/{n:02}" for n in range(40)]
        fill(engine, [item(name, description="weather") for name in reversed(names)])
        assert words_of(engine, "weather") == dense_of(engine, unit(1)) == names
        assert ids(engine.search(SearchRequest("weather", unit(1), 7))) == names[:7]

    def test_words_are_found_in_every_field(self, engine):
        fill(
            engine,
            [
                item("s/t/api", api="listVolcanoes"),
                item("s/t/tool", tool="Volcano Watch"),
                item("s/t/category", category="volcano"),
                item("s/t/description", description="About a volcano."),
                item("s/t/example", examples=("is the volcano awake?",)),
                item("s/t/tag", tags=("volcano",)),
                item("s/t/none", description="about the sea"),
            ],
        )
        expected = {f"s/t/{name}" for name in ("api", "tool", "category", "description", "example", "tag")}
        assert set(words_of(engine, "volcano")) == expected

    @pytest.mark.parametrize("query", ["user", "id", "getUserById", "GETUSERBYID", "get_user_by_id"])
    def test_identifiers_are_found_whole_and_by_their_parts(self, engine, query):
        fill(engine, [item(api="getUserById"), item("s/t/b", api="listOrders")])
        assert words_of(engine, query) == ["s/t/a"]

    @pytest.mark.parametrize("query", ["forecasts", "FORECAST", "forecasting", "café", "cafe", "CAFÉ"])
    def test_case_accents_and_inflection_do_not_matter(self, engine, query):
        fill(engine, [item(description="the forecast of a café"), item("s/t/b", description="other")])
        assert words_of(engine, query) == ["s/t/a"]

    @pytest.mark.parametrize("query", ["天气", "北京的天气预报", "预报"])
    def test_chinese_is_found_by_parts_of_a_sentence(self, engine, query):
        fill(engine, [item(description="查询城市的天气预报信息"), item("s/t/b", description="播放音乐")])
        assert words_of(engine, query) == ["s/t/a"]

    @pytest.mark.parametrize(
        "query",
        [
            '"weather',
            "weather AND OR NEAR(",
            "AND weather",
            "weather* NOT",
            "api:weather",
            "^weather + - {a b} : col",
            "weather'; DROP TABLE docs; --",
            "weather\0",
            "\0weather",
            "\ud800weather\udfff",
            "\n\tweather\r",
            "{!x}weather/[a TO b]~2",
            "we ather " * 20_000 + " weather",
            "weather " * 12_500,
            "weather " + "x" * 100_000,
            "weather " + " ".join(f"w{n}" for n in range(20_000)),
        ],
        ids=lambda query: ascii(query[:20]),
    )
    def test_a_hostile_query_is_only_words(self, engine, query):
        fill(engine, [item(description="the weather"), item("s/t/b", unit(0, 1), description="other")])
        begun = time.monotonic()
        found = words_of(engine, query)
        assert time.monotonic() - begun < 5, "milliseconds where the machine is idle"
        assert found in ([], ["s/t/a"])
        if query.index("weather") < 100:
            assert found == ["s/t/a"]

    @pytest.mark.parametrize("query", ["", " ", "?!", "\0", "\ud800", '"" ()', "*"])
    def test_a_query_without_words_has_no_lexical_ranking(self, engine, query):
        fill(engine, [item(description="the weather")])
        assert words_of(engine, query) == []
        assert ids(engine.search(SearchRequest(query, unit(1), 5))) == ["s/t/a"]

    def test_stop_words_are_ignored_unless_there_is_nothing_else(self, engine):
        fill(engine, [item(description="weather"), item("s/t/b", description="who is it for")])
        assert words_of(engine, "what is the weather") == ["s/t/a"]
        assert words_of(engine, "who is it") == ["s/t/b"]

    def test_neighbours_are_by_inner_product_with_a_vector_of_any_length(self, engine):
        fill(engine, [item("s/t/a", unit(1)), item("s/t/b", unit(1, 1)), item("s/t/c", unit(-1))])
        found = engine.neighbours(unit(1) * 2.5, 3, Filter())
        assert ids(found) == ["s/t/a", "s/t/b", "s/t/c"]
        scores = [candidate.dense.score for candidate in found]
        assert scores == pytest.approx([2.5, 2.5 / 2**0.5, -2.5], abs=1e-4)
        assert [candidate.lexical for candidate in found] == [None] * 3

    def test_apis_of_tools_are_ordered_by_id_and_limited(self, engine):
        fill(engine, [item(f"s/t/{n}", tool="A/B" if n % 2 else "other") for n in reversed(range(8))])
        key = document(tool="A/B").tool_key
        assert ids(engine.apis_of_tools([key, "no/tool"], Filter(), 3)) == ["s/t/1", "s/t/3", "s/t/5"]
        (first, *_) = engine.apis_of_tools([key], Filter(), 1)
        assert (first.lexical, first.dense, first.tool) == (None, None, "A/B")
        assert engine.apis_of_tools([], Filter(), 3) == []
        assert engine.apis_of_tools([key], Filter(tools=frozenset({"c/other"})), 3) == []

    def test_fetch_keeps_the_order_asked_for_and_leaves_out_what_is_unknown(self, engine):
        fill(engine, [item("s/t/a"), item("s/t/b")])
        asked = ["s/t/b", "nope", "s/t/a", "\ud800", "s/t/b"]
        assert ids(engine.fetch(asked, Filter())) == ["s/t/b", "s/t/a", "s/t/b"]

    def test_fetch_takes_thousands_of_ids(self, engine):
        names = [f"s/t/{n:05}" for n in range(2_500)]
        fill(engine, [item(name) for name in names])
        assert ids(engine.fetch(names, Filter())) == names

    # Who may see what

    def test_without_principals_only_public_documents_are_visible(self, engine):
        fill(engine, [item("s/t/public"), item("s/t/secret", allowed=("ann", "ops"))])
        assert dense_of(engine, unit(1)) == ["s/t/public"]
        assert dense_of(engine, unit(1), principals=frozenset({"bob"})) == ["s/t/public"]
        assert dense_of(engine, unit(1), principals=frozenset({"bob", "ops"})) == ["s/t/public", "s/t/secret"]

    def test_a_tenant_sees_its_own_and_the_shared_documents(self, engine):
        fill(
            engine, [item("s/t/acme", tenant="acme"), item("s/t/globex", tenant="globex"), item("s/t/shared")]
        )
        assert dense_of(engine, unit(1)) == ["s/t/shared"]
        assert dense_of(engine, unit(1), tenant="acme") == ["s/t/acme", "s/t/shared"]
        assert dense_of(engine, unit(1), tenant="nobody") == ["s/t/shared"]

    @pytest.mark.parametrize("principal", ["ann\0", "an", "ann ", "ANN", "", "%", "*", "\ud800"])
    def test_principals_are_compared_whole(self, engine, principal):
        fill(engine, [item(allowed=("ann",))])
        assert dense_of(engine, unit(1), principals=frozenset({principal})) == []

    def test_a_filter_of_many_principals_works(self, engine):
        fill(engine, [item(allowed=("p3999",))])
        assert dense_of(engine, unit(1), principals=frozenset(f"p{n}" for n in range(4000))) == ["s/t/a"]

    def test_filters_restrict_both_rankings_before_they_are_cut(self, engine):
        near = [item(f"s/t/near{n}", unit(1), description="weather weather") for n in range(20)]
        wanted = item(
            "s/t/z", unit(0, 1), description="long words about weather", category="x", tool="y",
            effect=Effect.WRITE, deprecated=True, tenant="acme", allowed=("ann",),
        )  # fmt: skip
        fill(engine, [*near, wanted])
        sees = {"tenant": "acme", "principals": frozenset({"ann"})}
        for restriction in (
            {"categories": frozenset({"x"})},
            {"tools": frozenset({"x/y"})},
            {"effects": frozenset({Effect.WRITE})},
            {"deprecated": "only"},
        ):
            request = SearchRequest("weather", unit(1), 1, Filter(**sees, **restriction))
            (found,) = engine.search(request)
            assert (found.id, found.lexical.rank, found.dense.rank) == ("s/t/z", 1, 1)
        assert "s/t/z" not in dense_of(engine, unit(1), **sees, deprecated="exclude")

    @property_test
    @given(catalog=items, wanted=filters, query=vectors)
    def test_every_way_to_ask_shows_exactly_what_the_filter_allows(self, make_engine, catalog, wanted, query):
        engine = make_engine()
        fill(engine, catalog)
        visible = [each for each in catalog if is_visible(each.document, wanted)]
        names = sorted(each.document.id for each in visible)

        dense = engine.search(SearchRequest("", query, 100, wanted))
        assert ids(dense) == nearest_ids(visible, query)
        assert ids(engine.search(SearchRequest("", query, 3, wanted))) == nearest_ids(visible, query)[:3]
        assert ids(engine.neighbours(query * 3, 4, wanted)) == nearest_ids(visible, query)[:4]

        found = engine.search(SearchRequest(" ".join(WORDS[:2]), None, 100, wanted))
        holding = [each for each in visible if set(each.document.description.split()) & set(WORDS[:2])]
        assert sorted(ids(found)) == sorted(each.document.id for each in holding)

        keys = {each.document.tool_key for each in catalog}
        assert ids(engine.apis_of_tools(keys, wanted, 100)) == names
        asked = [each.document.id for each in catalog]
        assert ids(engine.fetch(asked, wanted)) == [name for name in asked if name in names]

    @property_test
    @given(first=items, second=items, query=vectors)
    def test_a_catalog_written_in_steps_equals_one_written_at_once(self, make_engine, first, second, query):
        stepwise, at_once = make_engine(), make_engine()
        index = fill(stepwise, first)
        kept = {each.document.id: each for each in second}
        with stepwise.writing(index) as writer:
            writer.delete([each.document.id for each in first if each.document.id not in kept])
            writer.write(second)
        other = fill(at_once, second)
        assert list(stepwise.hashes(index)) == list(at_once.hashes(other))
        request = SearchRequest("weather city", query, 5, EVERYTHING)
        assert [places(c) for c in stepwise.search(request)] == [places(c) for c in at_once.search(request)]

    # Several threads

    def test_threads_search_at_once(self, engine):
        fill(engine, [item(f"s/t/{n:02}", unit(n + 1, 1), description="weather") for n in range(20)])
        request = SearchRequest("weather", unit(1), 5)
        expected = ids(engine.search(request))
        answers: list[list[str]] = []
        threads = [
            threading.Thread(target=lambda: answers.extend(ids(engine.search(request)) for _ in range(10)))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [expected] * 60

    def test_readers_see_a_session_whole_or_not_at_all(self, engine):
        index = fill(engine, generation(0))
        stop, mixtures = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                mixtures.append(mixture(engine))

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(1, 15):
            with engine.writing(index) as writer:
                batch = generation(number)
                writer.write(batch[:10])
                writer.write(batch[10:])
        stop.set()
        for reader in readers:
            reader.join()
        assert mixtures
        assert set(mixtures) == {""}
        assert mixture(engine) == ""


def places(candidate) -> tuple:
    """Id, ranks and scores, as exact as engines that count in float32 are."""
    rankings = (candidate.lexical, candidate.dense)
    return candidate.id, *(place and (place.rank, round(place.score, 5)) for place in rankings)


def generation(number: int) -> list[IndexedDocument]:
    """Twenty documents whose text, vector and name all tell the same number."""
    angle = unit(np.cos(number), np.sin(number))
    return [item(f"s/t/{n:02}", angle, description=f"weather g{number}", api=f"g{number}") for n in range(20)]


def mixture(engine: Engine) -> str:
    """Empty when one search shows a single generation, otherwise what is wrong."""
    found = engine.search(SearchRequest("weather", unit(1), 50))
    numbers = {int(candidate.api[1:]) for candidate in found}
    if len(found) != 20 or len(numbers) != 1:
        return f"{len(found)} documents of generations {numbers}"
    (number,) = numbers
    expected = unit(np.cos(number), np.sin(number))
    wrong = [c.id for c in found if not np.allclose(c.vector, expected) or not c.lexical or not c.dense]
    return f"wrong vectors or places: {wrong}" if wrong else ""
