"""Who sees what, and when."""

from __future__ import annotations

import threading

import pytest
from asking import EVERYTHING, dense_of, generation, ids, mixture, places, property_test
from catalogs import (
    WORDS,
    fill,
    filters,
    is_visible,
    item,
    items,
    nearest_ids,
    unit,
    vectors,
)
from hypothesis import given

from kitpick_engines.contract import Filter, SearchRequest
from kitpick_engines.document import Effect


class VisibilityContract:
    """What every engine hides, from whom and until when."""

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
