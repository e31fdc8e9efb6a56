"""The engine over a search server: one class for OpenSearch and Elasticsearch.

A session becomes visible at one moment, to all searches and on all shards, also when the server or the
writer is killed at any other: documents carry the session that wrote them (`born`) and the one that ended
them (`died`), and every search asks for one committed state. Writers take turns, from whichever machine
they write.

Terms, BM25F and inner products are those of the SQLite engine; the server only chooses which documents are
scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from kitpick_engines.contract import (
    Candidate,
    Candidates,
    Filter,
    IndexedDocument,
    IndexSchema,
    IndexStats,
    JobPart,
    RestrictedDocument,
    SearchRequest,
    Vector,
)
from kitpick_engines.document import ApiDocument
from kitpick_engines.errors import EngineError, EngineUnavailable
from kitpick_engines.lexical import Terms
from kitpick_engines.remote import indexes, pipelines
from kitpick_engines.remote.address import Address
from kitpick_engines.remote.lease import Lease, PartLease
from kitpick_engines.remote.live_index import LiveIndex
from kitpick_engines.remote.queries import (
    Live,
    LiveReader,
    committed,
    listed,
    storable,
)
from kitpick_engines.remote.server import Json, SearchServer, ServerDialect
from kitpick_engines.remote.sources import (
    DOCUMENT_FIELDS,
    document_of,
    vector_of,
)
from kitpick_engines.remote.state import CatalogState, StateStore
from kitpick_engines.remote.writer import RemoteWriter, clean

_PAGE = 500
_PAGE_OF_COLUMNS = 5_000
_FETCHED_AT_ONCE = 1_000
_MAX_SOURCES = 10_000


class RemoteEngine:
    """An `Engine` over a search server, for any number of threads."""

    def __init__(self, address: Address, server: SearchServer, dialect: ServerDialect) -> None:
        """Sends no request to the server yet."""
        self.url = address.url
        self.address = address
        self.server = server
        self.dialect = dialect
        self._store = StateStore(server, address.name)
        self._reader = LiveReader(server, self._store)
        self._terms = Terms()
        self._index = LiveIndex(address.url, self._reader, dialect, self._terms)

    def live(self) -> tuple[str, IndexSchema] | None:
        """Name and schema of the live index, None before the first one."""
        state = self._reader.state()
        return (state.live, state.index(state.live).schema) if state and state.live else None

    def ensure(self, schema: IndexSchema) -> str:
        """Name of the index for this schema: the live one, or one built beside it (resumed if begun)."""
        now = self._reader.state()
        if now and now.live and now.index(now.live).schema == schema:
            chosen = now.live
        else:
            now = self._store.change(lambda state: indexes.with_schema(state, self.address.name, schema))
            chosen = indexes.of_schema(now, schema)
        indexes.make_index(self.server, chosen, indexes.body(self.address, self.dialect, schema))
        if not now.live:  # only what is there may be read
            now = self._store.change(partial(indexes.with_live, index=chosen))
        self._tidy(self._reader.remember(now))
        if chosen == now.live:
            self._name_model(chosen, schema)
        return chosen

    def swap(self, index: str) -> None:
        """Makes `index` the live one and drops all others.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        state = self._store.change(lambda state: indexes.swapped(state, index))
        self._publish(state)
        self._name_model(index, state.index(index).schema)

    @contextmanager
    def writing(self, index: str) -> Iterator[RemoteWriter]:
        """A session: its changes become visible together at the end, or not at all on an exception.

        Other writers wait for it, readers do not.

        Raises:
            UnknownIndex: there is no index of this name.
            EngineUnavailable: another session does not end, or the server cannot be reached.
        """
        lease = Lease(self._store, index, self.address.settings.busy)
        with self._session(index, lease) as writer:
            yield writer

    @contextmanager
    def writing_part(self, index: str, part: JobPart) -> Iterator[RemoteWriter]:
        """A session beside those that write the other parts of the same job, on however many machines.

        Its changes become visible together when it ends. Whoever writes something else waits for all parts;
        a second process with the same part waits for the first.

        Raises:
            As `writing`.
        """
        lease = PartLease(self._store, index, part, self.address.settings.busy)
        with self._session(index, lease) as writer:
            yield writer

    @contextmanager
    def _session(self, index: str, lease: Lease) -> Iterator[RemoteWriter]:
        try:
            if lease.is_alone:
                clean(self.server, index, lease.before)
            writer = RemoteWriter(self.server, index, lease, self._terms)
            yield writer
            if writer.changed:
                self.server.call("POST", f"/{index}/_refresh")
            state = lease.commit()
        except BaseException:
            # Without an answer the session counts as aborted when the next one begins.
            with suppress(EngineUnavailable):
                lease.abort()
            raise
        if state.live == index:
            self._publish(state)
        else:  # an index that is built beside the live one: nothing that is searched has changed yet
            self._tidy(self._reader.remember(state))

    def hashes(
        self, index: str, source: str | None = None, part: JobPart | None = None
    ) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) of one source's documents, of one part of them, or of all, ordered by id.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        wanted: list[Json] = [] if source is None else [{"terms": {"source": storable([source])}}]
        if part is not None:
            wanted.append({"range": {"slot": {"gte": part.slots.start, "lt": part.slots.stop}}})
        columns = {"size": _PAGE_OF_COLUMNS, "_source": False, "docvalue_fields": ["id", "content_hash"]}
        for hit in self._stream(index, wanted, [], columns):
            yield hit["fields"]["id"][0], hit["fields"]["content_hash"][0]

    def restricted(self, index: str, source: str) -> Iterator[RestrictedDocument]:
        """The restricted documents of a source, ordered by id.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        of_a_tenant: Json = {"bool": {"must_not": [{"term": {"tenant": ""}}]}}
        wanted: list[Json] = [
            {"terms": {"source": storable([source])}},
            {"bool": {"should": [{"term": {"public": False}}, of_a_tenant], "minimum_should_match": 1}},
        ]
        columns = {"size": _PAGE_OF_COLUMNS, "_source": False, "docvalue_fields": ["id", "tenant", "public"]}
        for hit in self._stream(index, wanted, [], columns):
            fields = hit["fields"]
            yield RestrictedDocument(fields["id"][0], fields["tenant"][0], not fields["public"][0])

    def documents(self, index: str) -> Iterator[IndexedDocument]:
        """Every document with its vector, ordered by id.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        for hit in self._stream(index, [], [*DOCUMENT_FIELDS, "vector_f32"]):
            yield IndexedDocument(document_of(hit["_source"]), vector_of(hit["_source"]))

    def search(self, request: SearchRequest) -> Candidates:
        """Like `LiveIndex.search`."""
        return self._index.search(request)

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """Like `LiveIndex.neighbours`."""
        return self._index.neighbours(vector, k, filter)

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """Like `LiveIndex.apis_of_tools`."""
        return self._index.apis_of_tools(tools, filter, limit)

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Like `LiveIndex.fetch`."""
        return self._index.fetch(ids, filter)

    def stats(self) -> IndexStats | None:
        """Statistics of the live index, None before the first one. `bytes` counts what its shards store."""
        by_source = {"terms": {"field": "source", "size": _MAX_SOURCES}}

        def question(live: Live) -> list[Json]:
            exists: Json = {"bool": {"filter": committed(live.state)}}
            return [{"size": 0, "query": exists, "aggs": {"sources": by_source}}]

        asked = self._reader.ask(question)
        if asked is None:
            return None
        live, (answer,) = asked
        counts = {each["key"]: each["doc_count"] for each in answer["aggregations"]["sources"]["buckets"]}
        stored = self.server.call("GET", f"/{live.name}/_stats/store")["_all"]["total"]["store"]
        counted = dict(sorted(counts.items()))
        size = int(stored["size_in_bytes"])
        return IndexStats(live.name, live.state.schema, sum(counts.values()), counted, size)

    def close(self) -> None:
        """Releases connections."""
        self.server.close()

    def _publish(self, state: CatalogState) -> None:
        """Updates alias and indexes after a change that is in place, whatever fails from here on."""
        try:
            self._tidy(self._reader.remember(state))
        except EngineError as error:
            raise EngineUnavailable(
                f"{error}; the change is in place, but whoever searches by the alias {self.address.name!r} "
                "may not see it yet: run it again"
            ) from error

    def _name_model(self, index: str, schema: IndexSchema) -> None:
        if self.dialect.search_pipelines:
            pipelines.name_model(self.server, self.address.name, index, schema.model)

    def _tidy(self, state: CatalogState | None) -> None:
        """Updates alias and indexes to the state, also after a session was killed.

        Until it finds nothing new: an alias for an older state might have replaced that of a newer one.
        """
        while state is not None and state.live:
            indexes.point_alias(self.server, self.address, state)
            if dropped := state.dropped:
                indexes.delete(self.server, dropped)
                self._store.change(partial(indexes.without_dropped, deleted=dropped), refresh=False)
            before, state = state, self._reader.state()
            if state is not None and _shown(state) == _shown(before):
                return

    def _stream(
        self, index: str, wanted: list[Json], fields: Sequence[str], more: Json | None = None
    ) -> Iterator[Json]:
        """Hits in one committed state of any index, page by page, ordered by id."""
        state = self._reader.state() or CatalogState()
        shown: Json = {"bool": {"filter": [*committed(state.index(index)), *wanted]}}
        after: str | None = None
        while True:
            body = listed(shown, _PAGE, fields, after) | (more or {})
            page: list[Json] = self.server.call("POST", f"/{index}/_search", body)["hits"]["hits"]
            yield from page
            if len(page) < body["size"]:
                return
            after = page[-1]["sort"][0]


def _shown(state: CatalogState) -> Json:
    """The part of a state that the alias depends on."""
    return {state.live: committed(state.index(state.live))}
