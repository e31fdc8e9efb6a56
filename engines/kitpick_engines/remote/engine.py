"""The engine over a search server: one class for OpenSearch and Elasticsearch.

A session becomes visible at one moment, to all searches and on all shards, also when the server or the
writer is killed at any other: documents carry the session that wrote them (`born`) and the one that ended
them (`died`), and every search asks for one committed state. Writers take turns, from whichever machine
they write.

Terms, BM25F and inner products are those of the SQLite engine; the server only chooses which documents are
scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from kitpick_engines.contract import IndexedDocument, IndexSchema, IndexStats, RestrictedDocument
from kitpick_engines.errors import EngineError, EngineUnavailable, NameTaken
from kitpick_engines.lexical import Terms
from kitpick_engines.remote import indexes, integrity, ownership, pipelines
from kitpick_engines.remote.address import Address
from kitpick_engines.remote.adoption import Adoption, carry_out, planned
from kitpick_engines.remote.lease import Lease
from kitpick_engines.remote.live_index import LiveIndex
from kitpick_engines.remote.queries import (
    BY_SOURCE,
    Live,
    LiveReader,
    by_source,
    committed,
    listed,
    storable,
)
from kitpick_engines.remote.server import Json, RequestRefused, SearchServer, ServerDialect
from kitpick_engines.remote.sources import (
    DOCUMENT_FIELDS,
    document_of,
    vector_of,
)
from kitpick_engines.remote.state import CatalogState, StateStore
from kitpick_engines.remote.writer import RemoteWriter, clean, refuse_later

T = TypeVar("T")
P = ParamSpec("P")

_PAGE = 500
_PAGE_OF_COLUMNS = 5_000


def _nothing_if_deleted(items: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """Items of an index; none where somebody deleted it on the server: the next sync makes it again."""

    @wraps(items)
    def there(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        try:
            yield from items(*args, **kwargs)
        except RequestRefused as error:
            if error.kind != "index_not_found_exception":
                raise

    return there


class RemoteEngine(LiveIndex):
    """An `Engine` over a search server, for any number of threads."""

    def __init__(self, address: Address, server: SearchServer, dialect: ServerDialect) -> None:
        """Sends no request to the server yet."""
        self.address = address
        self.server = server
        self._store = StateStore(server, address.name)
        self._reader: LiveReader = LiveReader(server, self._store)
        super().__init__(address.url, self._reader, dialect, Terms())

    def live(self) -> tuple[str, IndexSchema] | None:
        """Name and schema of the live index, None before the first one."""
        state = self._reader.state()
        return (state.live, state.index(state.live).schema) if state and state.live else None

    def ensure(self, schema: IndexSchema) -> str:
        """Name of the index for this schema: the live one, or one built beside it (resumed if begun)."""
        now = self._reader.state()
        is_legacy = now is not None and not now.name
        if now is None or not now.live:
            indexes.refuse_taken(self.server, self.address.name)
        if now is not None:
            self.verify(now)
        if now and now.live and now.index(now.live).schema == schema:
            chosen = now.live
        else:
            now = self._store.change(lambda state: indexes.with_schema(state, self.address.name, schema))
            chosen = indexes.of_schema(now, schema)
        known = is_legacy or chosen in now.uuids
        try:
            indexes.make_index(self.server, chosen, indexes.body(self.address, self.dialect, schema), known)
        except NameTaken:  # unless another process of this catalog has made it and written into it meanwhile
            if chosen not in (self._reader.state() or now).uuids:
                raise
        now = self._bind(now, chosen)
        self._tidy(self._reader.remember(now))
        if chosen == now.live:
            self._name_model(chosen, schema)
        return chosen

    def verify(self, state: CatalogState | None = None) -> None:
        """Compares the catalog's name and the UUIDs of its indexes with those that its state names.

        Args:
            state: one that was just read; by default it is read.

        Raises:
            ForeignState: they differ: the catalog was restored from a snapshot.
        """
        state = state or self._reader.state()
        if state is not None:
            ownership.verify(self.server, self.address.name, state)

    def _bind(self, state: CatalogState, index: str) -> CatalogState:
        """Makes an index that is there known by its UUID, and live where none is: only such may be read."""
        home = self._store.index
        found = ownership.uuids_of(self.server, (home, *state.indexes, *state.dropped))

        def change(now: CatalogState) -> CatalogState:
            return ownership.bound(indexes.with_live(now, index), self.address.name, found)

        return state if change(state) == state else self._store.change(change)

    def swap(self, index: str) -> None:
        """Makes `index` the live one and drops all others.

        Raises:
            UnknownIndex: there is no index of this name.
            ForeignState: an index is not the one that this catalog made.
        """
        self.verify()
        state = self._store.change(lambda state: indexes.swapped(state, index))
        self._publish(state)
        self._name_model(index, state.index(index).schema)

    @contextmanager
    def writing(self, index: str) -> Iterator[RemoteWriter]:
        """A session: its changes become visible together at the end, or not at all on an exception.

        Other writers wait for it, readers do not.

        Raises:
            UnknownIndex: there is no index of this name.
            ForeignState: it is not the index that this catalog made, or is newer than the state.
            EngineUnavailable: another session does not end, or the server cannot be reached.
        """
        self.verify()
        lease = Lease(self._store, index, self.address.settings.busy)
        with self._session(index, lease) as writer:
            yield writer

    @contextmanager
    def _session(self, index: str, lease: Lease) -> Iterator[RemoteWriter]:
        try:
            refuse_later(self.server, index, lease.session, self.address.name)
            clean(self.server, index, lease.before, lease.beat)
            writer = RemoteWriter(self.server, index, lease, self._terms)
            yield writer
            if writer.changed:
                self.server.call("POST", f"/{index}/_refresh")
            state = lease.commit(writer.changed)
        except BaseException:
            # Without an answer the session counts as aborted when the next one begins.
            with suppress(EngineUnavailable):
                lease.abort()
            raise
        if state.live == index:
            self._publish(state)
        else:  # an index that is built beside the live one: nothing that is searched has changed yet
            self._tidy(self._reader.remember(state))

    @_nothing_if_deleted
    def hashes(self, index: str, source: str | None = None) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) of one source's documents, or of all, ordered by id.

        The hash is empty where somebody else wrote the document again and its words or vector are lost, or it
        holds something else than its document says: see `integrity`.
        """
        wanted: list[Json] = [] if source is None else [{"terms": {"source": storable([source])}}]
        columns = {"size": _PAGE_OF_COLUMNS, "_source": False, "docvalue_fields": ["id", "content_hash"]}
        lost = {hit["_id"] for hit in self._stream(index, [*wanted, integrity.lacking()], [], columns)}
        for page in self._pages(index, wanted, [], columns | {"version": True}):
            whole = [hit for hit in page if hit["_id"] not in lost]
            wrong = lost | integrity.rewritten(self.server, index, whole, self._terms)
            for hit in page:
                stored = [""] if hit["_id"] in wrong else hit["fields"].get("content_hash", [""])
                yield hit["fields"]["id"][0], stored[0]

    @_nothing_if_deleted
    def restricted(self, index: str, source: str) -> Iterator[RestrictedDocument]:
        """The restricted documents of a source, ordered by id.

        One that does not say who may see it, because somebody else wrote it, is seen by nobody.
        """
        for_everybody: Json = {"bool": {"filter": [{"term": {"public": True}}, {"term": {"tenant": ""}}]}}
        wanted: list[Json] = [
            {"terms": {"source": storable([source])}},
            {"bool": {"must_not": [for_everybody]}},
        ]
        columns = {"size": _PAGE_OF_COLUMNS, "_source": False, "docvalue_fields": ["id", "tenant", "public"]}
        for hit in self._stream(index, wanted, [], columns):
            fields = hit["fields"]
            (tenant,) = fields.get("tenant", [""])
            shown = "tenant" in fields and fields.get("public") == [True]
            yield RestrictedDocument(fields["id"][0], tenant, not shown)

    def documents(self, index: str) -> Iterator[IndexedDocument]:
        """Every document with its vector, ordered by id."""
        for hit in self._stream(index, [], [*DOCUMENT_FIELDS, "vector_f32"]):
            yield IndexedDocument(document_of(hit["_source"]), vector_of(hit["_source"]))

    def stats(self) -> IndexStats | None:
        """Statistics of the live index, None before the first one. `bytes` counts what its shards store."""
        asked = self._aggregated({"sources": BY_SOURCE})
        if asked is None:
            return None
        live, aggregations = asked
        counts = by_source(aggregations)
        stored = self.server.call("GET", f"/{live.name}/_stats/store")["_all"]["total"]["store"]
        counted = dict(sorted(counts.items()))
        size = int(stored["size_in_bytes"])
        changed = live.state.changed or None
        return IndexStats(live.name, live.state.schema, sum(counts.values()), counted, size, changed)

    def lost(self) -> dict[str, dict[str, int]]:
        """How many documents of the live index lack a field that rankings need, by field, by source."""
        asked = self._aggregated(integrity.lacking_by_field())
        return integrity.counted(asked[1]) if asked is not None else {}

    def _aggregated(self, aggregations: Json) -> tuple[Live, Json] | None:
        """Aggregations over every document of the live index, None where none is live."""

        def question(live: Live) -> list[Json]:
            exists: Json = {"bool": {"filter": committed(live.state)}}
            return [{"size": 0, "query": exists, "aggs": aggregations}]

        asked = self._reader.ask(question)
        return (asked[0], asked[1][0]["aggregations"]) if asked is not None else None

    def planned_adoption(self) -> Adoption | None:
        """What `adopt` would do with a restored catalog; None where the state matches already."""
        return planned(self.server, self._store)

    def adopt(self, adoption: Adoption) -> None:
        """Binds the state to this catalog's name and to the indexes that are there, and sets the alias."""
        state = carry_out(self.server, self._store, adoption)
        self._publish(state)

    def strangers(self) -> list[str]:
        """Indexes that the catalog's alias shows, and that it did not make."""
        state = self._reader.state()
        return ownership.strangers(self._aliased(), state) if state is not None else []

    def is_shown(self, index: str) -> bool:
        """Whether the catalog's alias shows an index."""
        return index in self._aliased()

    def _aliased(self) -> Json:
        return self.server.find("GET", f"/_alias/{self.address.name}") or {}

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
                for name in ownership.deletable(self.server, self.address.name, state):
                    self.server.find("DELETE", f"/{name}")
                self._store.change(partial(indexes.without_dropped, deleted=dropped), refresh=False)
            before, state = state, self._reader.state()
            if state is not None and _shown(state) == _shown(before):
                return

    def _stream(
        self, index: str, wanted: list[Json], fields: Sequence[str], more: Json | None = None
    ) -> Iterator[Json]:
        """Hits in one committed state of any index, ordered by id."""
        for page in self._pages(index, wanted, fields, more):
            yield from page

    def _pages(
        self, index: str, wanted: list[Json], fields: Sequence[str], more: Json | None = None
    ) -> Iterator[list[Json]]:
        """The same, page by page. What has no id is no document of ours."""
        state = self._reader.state() or CatalogState()
        named: Json = {"exists": {"field": "id"}}
        shown: Json = {"bool": {"filter": [*committed(state.index(index)), *wanted, named]}}
        after: str | None = None
        while True:
            body = listed(shown, _PAGE, fields, after) | (more or {})
            page: list[Json] = self.server.call("POST", f"/{index}/_search", body)["hits"]["hits"]
            yield page
            if len(page) < body["size"]:
                return
            after = page[-1]["sort"][0]


def _shown(state: CatalogState) -> Json:
    """The part of a state that the alias depends on."""
    return {state.live: committed(state.index(state.live))}
