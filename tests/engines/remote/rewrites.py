"""What somebody else's update takes from a document is seen, named and mended."""

from __future__ import annotations

import pytest
from asking import dense_of, words_of
from catalogs import fill, item, unit
from servers import MakeCatalog

from kitpick_engines.contract import Filter, RestrictedDocument
from kitpick_engines.remote.engine import RemoteEngine

ALL = {"s/t/a", "s/t/b", "s/t/c"}


class RewriteContract:
    """Inherited by the tests of each server with updates by query."""

    @pytest.fixture
    def engine(self, make_engine: MakeCatalog) -> RemoteEngine:
        engine = make_engine()
        fill(engine, [item(name, description=f"weather {name[-1]}x") for name in sorted(ALL)])
        return engine

    @pytest.fixture
    def index(self, engine: RemoteEngine) -> str:
        live = engine.live()
        assert live is not None
        return live[0]

    def test_an_update_by_query_loses_words_and_vector(self, engine, index):
        assert engine.lost() == {}
        body = {"query": {"term": {"id": "s/t/b"}}}
        engine.server.call("POST", f"/{index}/_update_by_query?refresh=true", body)
        assert engine.lost() == {"s": {"vector": 1, "words": 1}}
        assert words_of(engine, "bx") == [], "its words do not find it"
        assert unknown(engine, index) == {"s/t/b"}
        fill(engine, [item("s/t/b", description="weather bx")])
        assert (engine.lost(), unknown(engine, index)) == ({}, set())
        assert dense_of(engine, unit(1)) == sorted(ALL)
        assert words_of(engine, "bx") == ["s/t/b"]

    def test_a_partial_update(self, engine, index):
        (hit,) = found(engine, index, "s/t/c")
        change = {"doc": {"deprecated": True}}
        engine.server.call("POST", f"/{index}/_update/{hit['_id']}?refresh=true", change)
        assert unknown(engine, index) == {"s/t/c"}

    def test_a_document_that_was_written_whole_but_says_something_else(self, engine, index):
        """Also where no field is lacking: what is derived is compared with the document."""
        (hit,) = found(engine, index, "s/t/a")
        source = {**hit["_source"], "description": "storms", "words": "storm", "vector": [1, 0, 0, 0]}
        engine.server.call("PUT", f"/{index}/_doc/{hit['_id']}?refresh=true", source)
        assert engine.lost() == {}
        assert unknown(engine, index) == {"s/t/a"}

    def test_an_update_by_query_that_takes_fields_away(self, engine, index):
        """Searches are without it, and the next sync writes it again."""
        take_away(engine, index, "s/t/b", ["text", "content_hash", "counts", "lengths", "vector_f32"])
        assert [each.id for each in engine.apis_of_tools(["c/t"], Filter(), 9)] == ["s/t/a", "s/t/c"]
        assert unknown(engine, index) == {"s/t/b"}
        fill(engine, [item("s/t/b", description="weather bx")])
        assert (engine.lost(), unknown(engine, index)) == ({}, set())
        assert words_of(engine, "bx") == ["s/t/b"]

    def test_a_document_that_no_longer_says_who_may_see_it_counts_as_restricted(self, engine, index):
        """So a sync that shows it to everybody again is one that widens, which is told."""
        assert list(engine.restricted(index, "s")) == []
        take_away(engine, index, "s/t/a", ["tenant"])
        take_away(engine, index, "s/t/b", ["public"])
        hidden = [RestrictedDocument(name, "", limited=True) for name in ("s/t/a", "s/t/b")]
        assert list(engine.restricted(index, "s")) == hidden

    def test_what_somebody_else_put_into_the_index_goes_with_the_next_sync(self, engine, index):
        stranger = {"id": "s/t/z", "source": "s", "tool": "t", "api": "z", "tool_key": "c/t", "born": 1}
        engine.server.call("PUT", f"/{index}/_doc/stranger?refresh=true", stranger)
        engine.server.call("PUT", f"/{index}/_doc/nameless?refresh=true", {"source": "s", "born": 1})
        assert unknown(engine, index) == {"s/t/z"}
        assert list(engine.restricted(index, "s")) == [RestrictedDocument("s/t/z", "", limited=True)]
        assert {each.id for each in engine.apis_of_tools(["c/t"], Filter(), 9)} == ALL
        with engine.writing(index) as writer:
            writer.delete(["s/t/z"])
        assert {name for name, _ in engine.hashes(index)} == ALL

    def test_a_document_that_was_written_again_as_it_was_is_left_alone(self, engine, index):
        (hit,) = found(engine, index, "s/t/a")
        source = {**hit["_source"], "words": "weather ax", "vector": [1, 0, 0, 0]}
        engine.server.call("PUT", f"/{index}/_doc/{hit['_id']}?refresh=true", source)
        assert unknown(engine, index) == set()


def take_away(engine: RemoteEngine, index: str, name: str, fields: list[str]) -> None:
    removal = "for (field in params.fields) { ctx._source.remove(field) }"
    script = {"source": removal, "params": {"fields": fields}}
    body = {"query": {"term": {"id": name}}, "script": script}
    engine.server.call("POST", f"/{index}/_update_by_query?refresh=true", body)


def found(engine: RemoteEngine, index: str, name: str) -> list[dict]:
    body = {"query": {"term": {"id": name}}}
    hits: list[dict] = engine.server.call("POST", f"/{index}/_search", body)["hits"]["hits"]
    return hits


def unknown(engine: RemoteEngine, index: str) -> set[str]:
    """Documents that the next sync writes again."""
    return {name for name, content in engine.hashes(index) if not content}
