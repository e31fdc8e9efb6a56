"""What every engine over a search server does beyond the contract: writers that collide or are killed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest
from asking import dense_of, generation, ids, mixture, words_of
from catalogs import SCHEMA, fill, item, unit
from servers import MakeCatalog

from kitpick_engines.contract import Filter, SearchRequest
from kitpick_engines.errors import EngineError, EngineUnavailable, InvalidDocument, RefusedDocuments
from kitpick_engines.remote import indexes, lease
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import RequestRefused


def abandon(engine: RemoteEngine, index: str, *items: object) -> None:
    """Writes and vanishes, as a process that is killed does: its documents are there, its right is held."""
    session = engine.writing(index)
    writer = session.__enter__()
    writer.write(list(items))
    writer.delete(["s/t/a"])
    engine.server.call("POST", f"/{index}/_refresh")


@pytest.fixture
def short_lease(monkeypatch):
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)


class SessionContract:
    """Inherited by the tests of each server."""

    def test_what_a_killed_session_wrote_is_never_seen(self, make_engine: MakeCatalog, short_lease):
        engine = make_engine()
        index = fill(engine, [item("s/t/a", description="weather"), item("s/t/b")])
        abandon(engine, index, item("s/t/a", description="half"), item("s/t/new"))
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/b"]
        assert words_of(engine, "half") == []
        fill(engine, [item("s/t/c")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/b", "s/t/c"]
        fill(engine, [item("s/t/a", description="second")])
        fill(engine, [item("s/t/d")])
        assert words_of(engine, "second") == ["s/t/a"]
        assert engine.stats().documents == 4
        assert stored(engine, index) == 5, "what no search needs is deleted, but for what was just replaced"

    def test_a_writer_that_was_taken_for_dead_cannot_commit(self, make_engine: MakeCatalog, short_lease):
        engine = make_engine()
        index = fill(engine, [item("s/t/a", description="weather")])
        other = make_engine(engine.url)

        def write_slowly() -> None:
            with engine.writing(index) as slow:
                slow.write([item("s/t/a", description="slow"), item("s/t/slow")])
                fill(other, [item("s/t/a", description="quick")])
                with pytest.raises(EngineUnavailable, match="took over"):
                    slow.delete(["s/t/a"])

        with pytest.raises(EngineUnavailable, match="took over"):
            write_slowly()
        assert words_of(engine, "quick") == ["s/t/a"]
        assert dense_of(other, unit(1)) == ["s/t/a"]
        fill(other, [item("s/t/b")])
        assert dense_of(other, unit(1)) == ["s/t/a", "s/t/b"]

    def test_writers_of_many_threads_lose_nothing_and_double_nothing(self, make_engine: MakeCatalog):
        engines = [make_engine()]
        index = fill(engines[0], [item("s/t/shared", description="n0")])
        engines += [make_engine(engines[0].url) for _ in range(3)]

        def write(number: int) -> None:
            for step in range(2):
                batch = [item("s/t/shared"), *(item(f"s/t/{number}-{step}-{n}") for n in range(5))]
                with engines[number].writing(index) as writer:
                    writer.write(batch)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        names = [name for name, _ in engines[0].hashes(index)]
        assert len(names) == len(set(names)) == 1 + 4 * 2 * 5
        assert dense_of(engines[0], unit(1)) == sorted(names)

    def test_a_second_writer_waits_and_gives_up_with_the_cure(self, make_engine: MakeCatalog):
        patient = make_engine(busy=60)
        hasty = make_engine(patient.url.replace("busy=60.0", "busy=0.2").replace("busy=60", "busy=0.2"))
        index = fill(patient, [item()])
        with patient.writing(index) as writer:
            writer.write([item("s/t/b")])
            with pytest.raises(EngineUnavailable, match="another process is writing"), hasty.writing(index):
                pass
        with hasty.writing(index) as writer:
            writer.delete(["s/t/b"])
        assert dense_of(patient, unit(1)) == ["s/t/a"]

    def test_readers_of_another_client_see_a_commit_at_once(self, make_engine: MakeCatalog):
        engine = make_engine()
        reader = make_engine(engine.url)
        fill(engine, generation(0))
        assert mixture(reader) == ""
        for number in range(1, 4):
            fill(engine, generation(number))
            found = reader.search(SearchRequest("weather", unit(1), 50))
            assert {each.api for each in found} == {f"g{number}"}

    def test_the_graph_finds_what_the_exact_search_finds(self, make_engine: MakeCatalog):
        rng = np.random.default_rng(7)
        drawn = rng.standard_normal((600, 4)).astype(np.float32)
        vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        items = [item(f"s/t/{n:03}", vectors[n], tool="ab"[n % 2]) for n in range(600)]
        exact, graph = make_engine(vectors="exact"), make_engine(vectors="hnsw")
        fill(exact, items)
        fill(graph, items)
        for query in vectors[:5]:
            for wanted in (Filter(), Filter(tools=frozenset({"c/a"}))):
                request = SearchRequest("", query, 10, wanted)
                assert ids(graph.search(request)) == ids(exact.search(request))

    def test_what_the_server_cannot_hold_is_refused_and_named(self, make_engine: MakeCatalog):
        engine = make_engine()
        index = engine.ensure(SCHEMA)
        with engine.writing(index) as writer:
            writer.write([item("s/t/kept")])
            with pytest.raises(InvalidDocument, match="category has more than"):
                writer.write([item("s/t/good"), item("s/t/bad", category="x" * 40_000)])
        assert dense_of(engine, unit(1)) == ["s/t/kept"]

    def test_a_partial_failure_names_the_documents_and_keeps_nothing_of_the_batch(
        self, make_engine: MakeCatalog, monkeypatch
    ):
        from kitpick_engines.remote import writer as writing

        engine = make_engine()
        index = fill(engine, [item("s/t/b", description="old")])
        honest = writing.sources_of

        def with_a_field_too_many(items, terms, session):
            sources = honest(items, terms, session)
            for source in sources:
                if source["id"] == "s/t/bad":
                    source["surprise"] = 1
            return sources

        monkeypatch.setattr(writing, "sources_of", with_a_field_too_many)
        with engine.writing(index) as writer:
            with pytest.raises(RefusedDocuments) as caught:
                writer.write([item("s/t/a"), item("s/t/bad"), item("s/t/b", description="new")])
            writer.write([item("s/t/c")])
        (refused,) = caught.value.refused
        assert refused.document_id == "s/t/bad"
        assert "surprise" in refused.reason
        assert dense_of(engine, unit(1)) == ["s/t/b", "s/t/c"]
        assert words_of(engine, "old") == ["s/t/b"]

    def test_the_alias_shows_the_committed_documents_to_everybody(
        self, make_engine: MakeCatalog, short_lease
    ):
        engine = make_engine()
        index = fill(engine, [item("s/t/a", description="weather"), item("s/t/b")])
        fill(engine, [item("s/t/a", description="weather again")])
        abandon(engine, index, item("s/t/b", description="half"))
        query = {"query": {"match_all": {}}, "sort": ["id"]}
        hits = engine.server.call("POST", f"/{engine.address.name}/_search", query)["hits"]["hits"]
        found = [(hit["_source"]["id"], hit["_source"].get("description", "")) for hit in hits]
        assert found == [("s/t/a", "weather again"), ("s/t/b", "")]

    def test_an_alias_is_not_rolled_over_to_an_empty_index_nor_written_by(self, make_engine: MakeCatalog):
        """Index State Management makes the same call. An alias from before is set by the next session."""
        engine = make_engine()
        index, name = fill(engine, [item("s/t/a")]), engine.address.name
        (shown,) = engine.server.call("GET", f"/_alias/{name}")[index]["aliases"].values()
        add = {"index": index, "alias": name, "filter": shown["filter"], "is_write_index": True}
        engine.server.call("POST", "/_aliases", {"actions": [{"add": add}]})
        fill(engine, [item("s/t/b")])
        for path, body in ((f"/{name}/_rollover", {}), (f"/{name}/_doc", {"id": "s/t/c"})):
            with pytest.raises(RequestRefused, match="write index"):
                engine.server.call("POST", path, body)
        assert list(engine.server.call("GET", f"/_alias/{name}")) == [index]

    def test_identifiers_are_split_and_kept_for_other_peoples_searches(self, make_engine: MakeCatalog):
        engine = make_engine()
        fill(engine, [item(api="getUserById", tool="WeatherServer_tools"), item("s/t/b", api="listOrders")])
        for field, words in (("api.text", ["user", "getUserById", "getuserbyid"]), ("tool.text", ["server"])):
            for word in words:
                query = {"query": {"match": {field: word}}}
                hits = engine.server.call("POST", f"/{engine.address.name}/_search", query)["hits"]["hits"]
                assert [hit["_source"]["id"] for hit in hits] == ["s/t/a"], word

    def test_a_strict_mapping_refuses_what_nobody_declared(self, make_engine: MakeCatalog):
        from kitpick_engines.remote.server import RequestRefused

        engine = make_engine()
        index = engine.ensure(SCHEMA)
        with pytest.raises(RequestRefused, match="strict"):
            engine.server.call("POST", f"/{index}/_doc", {"surprise": 1})

    def test_a_catalog_on_several_shards_ranks_alike(self, make_engine: MakeCatalog):
        one, three = make_engine(), make_engine(shards=3)
        items = [
            item(f"s/t/{n:02}", unit(n + 1, 1), description="weather " * (n % 4) + "city" * (n % 3))
            for n in range(40)
        ]
        fill(one, items)
        fill(three, items)
        request = SearchRequest("weather city", unit(1), 10)
        assert ids(one.search(request)) == ids(three.search(request))

    def test_a_swap_that_was_killed_half_way_is_finished_by_the_next_writer(self, make_engine: MakeCatalog):
        from catalogs import OTHER_SCHEMA

        engine = make_engine()
        old = fill(engine, [item("s/t/old")])
        new = fill(engine, [item("s/t/new")], OTHER_SCHEMA)
        engine._tidy = lambda state: None  # killed right after the change of the state
        engine.swap(new)
        other = make_engine(engine.url)
        assert dense_of(other, unit(1)) == ["s/t/new"]
        fill(other, [item("s/t/newer")], OTHER_SCHEMA)
        assert other.server.find("GET", f"/{old}/_settings") is None
        assert list(other.server.call("GET", f"/_alias/{other.address.name}")) == [new]

    def test_what_operators_gave_the_index_goes_over_to_the_next_one(self, make_engine: MakeCatalog):
        from catalogs import OTHER_SCHEMA

        engine = make_engine(make_engine().url.partition("?")[0])  # which leaves replicas to the server
        old = fill(engine, [item("s/t/old")])
        name = engine.address.name
        of_acme = {"term": {"tenant": "acme"}}
        settings = {"index.max_result_window": 12_345, "index.number_of_replicas": 0}
        if engine.address.kind == "opensearch":
            settings["index.search.default_pipeline"] = "_none"
        engine.server.call("PUT", f"/{old}/_settings", settings)
        add = {"index": old, "alias": f"{name}-acme", "filter": of_acme, "search_routing": "1"}
        engine.server.call("POST", "/_aliases", {"actions": [{"add": add}]})
        new = fill(engine, [item("s/t/new")], OTHER_SCHEMA)
        engine.swap(new)
        found = engine.server.call("GET", f"/{new}/_settings?flat_settings=true")[new]["settings"]
        assert settings.items() <= {key: _number(value) for key, value in found.items()}.items()
        aliases = engine.server.call("GET", f"/{new}/_alias")[new]["aliases"]
        assert aliases.pop(f"{name}-acme") == {"filter": of_acme, "search_routing": "1"}
        assert list(aliases) == [name]

    def test_a_point_in_time_ends_with_the_index_it_was_opened_on(self, make_engine: MakeCatalog):
        from catalogs import OTHER_SCHEMA

        engine = make_engine()
        fill(engine, [item("s/t/old")])
        name = engine.address.name
        opening = {"opensearch": "_search/point_in_time", "elasticsearch": "_pit"}[engine.address.kind]
        opened = engine.server.call("POST", f"/{name}/{opening}?keep_alive=1m")
        page = {"pit": {"id": opened.get("pit_id") or opened["id"], "keep_alive": "1m"}, "size": 1}
        assert len(engine.server.call("POST", "/_search", page)["hits"]["hits"]) == 1
        engine.swap(fill(engine, [item("s/t/new")], OTHER_SCHEMA))
        with pytest.raises((RequestRefused, EngineUnavailable), match=r"404|no such|all shards failed"):
            engine.server.call("POST", "/_search", page, patience=0)
        assert dense_of(engine, unit(1)) == ["s/t/new"], "who opens a new one goes on"

    def test_the_replicas_of_the_url_go_before_those_of_the_index(self, make_engine: MakeCatalog):
        from catalogs import OTHER_SCHEMA

        engine = make_engine()
        old = fill(engine, [item("s/t/old")])
        engine.server.call("PUT", f"/{old}/_settings", {"index.number_of_replicas": 1})
        new = fill(engine, [item("s/t/new")], OTHER_SCHEMA)
        engine.swap(new)
        found = engine.server.call("GET", f"/{new}/_settings?flat_settings=true")[new]["settings"]
        assert found["index.number_of_replicas"] == "0"

    @pytest.mark.parametrize("block", ["write", "read_only_allow_delete"])
    def test_a_block_is_named_and_no_document_is_taken_for_refused(
        self, make_engine: MakeCatalog, block: str
    ):
        engine = make_engine(patience=1)
        index = fill(engine, [item("s/t/a")])
        engine.server.call("PUT", f"/{index}/_settings", {f"index.blocks.{block}": True})
        try:
            with pytest.raises(EngineUnavailable, match=r"read-only.*index\.blocks"):
                fill(engine, [item("s/t/b")])
        finally:
            engine.server.call("PUT", f"/{index}/_settings", {f"index.blocks.{block}": None})
        fill(engine, [item("s/t/c")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/c"]

    def test_a_catalog_whose_first_index_is_not_made_yet_is_empty(
        self, make_engine: MakeCatalog, monkeypatch
    ):
        class Killed(Exception):
            pass

        def killed(*_: object) -> None:
            raise Killed

        engine = make_engine()
        with monkeypatch.context() as patch:
            patch.setattr(indexes, "make_index", killed)
            with pytest.raises(Killed):
                engine.ensure(SCHEMA)
        other = make_engine(engine.url)
        assert (other.live(), other.stats(), dense_of(other, unit(1))) == (None, None, [])
        index = fill(other, [item("s/t/a")])
        assert other.live() == (index, SCHEMA)
        assert dense_of(engine, unit(1)) == ["s/t/a"]

    def test_an_index_that_somebody_deleted_is_named_with_the_cure(self, make_engine: MakeCatalog):
        """The next ingest makes it again: it is empty for it, so everything is embedded or read anew."""
        engine = make_engine()
        index = fill(engine, [item("s/t/a")])
        engine.server.call("DELETE", f"/{index}")
        for asking in (engine, make_engine(engine.url)):
            with pytest.raises(EngineError, match=rf"{index}.*ingest"):
                dense_of(asking, unit(1))
            assert (list(asking.hashes(index)), list(asking.restricted(index, "s"))) == ([], [])
        fill(engine, [item("s/t/b")])
        assert dense_of(engine, unit(1)) == ["s/t/b"]
        shown = engine.server.call("POST", f"/{engine.address.name}/_search", {})["hits"]["hits"]
        assert [hit["_source"]["id"] for hit in shown] == ["s/t/b"]

    def test_threads_that_ensure_at_once_make_one_index(self, make_engine: MakeCatalog):
        first = make_engine()
        engines = [first, *(make_engine(first.url) for _ in range(3))]
        gate = threading.Barrier(4)

        def ensure(engine: RemoteEngine) -> str:
            gate.wait()
            return engine.ensure(SCHEMA)

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(ensure, engines))) == 1

    def test_a_later_format_is_refused(self, make_engine: MakeCatalog):
        from kitpick_engines.errors import OtherFormat

        engine = make_engine()
        engine.ensure(SCHEMA)
        state = engine._store.load().state
        body = {"format": 99, "state": msgspec.to_builtins(state)}
        engine.server.call("PUT", f"/{engine.address.name}-state/_doc/catalog?refresh=true", body)
        with pytest.raises(OtherFormat, match="upgrade"):
            engine.live()


def stored(engine: RemoteEngine, index: str) -> int:
    """Versions of documents that the index holds, visible or not."""
    engine.server.call("POST", f"/{index}/_refresh")
    return int(engine.server.call("GET", f"/{index}/_count")["count"])


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdigit() else value
