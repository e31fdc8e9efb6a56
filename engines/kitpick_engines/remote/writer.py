"""A write session. Its documents are in the index at once, and visible after the commit.

A new version of a document lies beside the one it replaces; that one is marked with the session that ends
it. Marks are made only where the sequence number is still the one that was read, so that a mark of a
session that is taken for dead, and arrives late, cannot undo another's.

What no search can need any more is removed at the beginning of a session, when nobody else writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kitpick_engines.contract import IndexedDocument, checked_vector
from kitpick_engines.document import validate_document
from kitpick_engines.errors import EngineUnavailable, ForeignState, InvalidDocument, RefusedDocuments
from kitpick_engines.lexical import Terms
from kitpick_engines.remote.bulk import Action, RefusedAction, send
from kitpick_engines.remote.lease import Lease
from kitpick_engines.remote.queries import BY_ID, committed, listed, narrowed, storable
from kitpick_engines.remote.server import Json, SearchServer
from kitpick_engines.remote.sources import check_keywords, physical_id, restored, sources_of
from kitpick_engines.remote.state import IndexState

_PAGE = 500
_ATTEMPTS = 10


class RemoteWriter:
    """The `Writer` of search servers. For one thread at a time."""

    def __init__(self, server: SearchServer, index: str, lease: Lease, terms: Terms) -> None:
        self._server = server
        self._index = index
        self._lease = lease
        self._terms = terms
        self._session = lease.session
        self._exists: Json = {"bool": {"filter": committed(lease.before)}}
        self.changed = False

    def write(self, batch: Sequence[IndexedDocument]) -> None:
        """Adds documents, replacing those of the same id; the last of equal ids in the batch counts.

        Raises:
            InvalidVector: wrong length or not finite; nothing of the batch is kept.
            InvalidDocument: no engine can hold it; nothing of the batch is kept.
            RefusedDocuments: the server refused some; nothing of the batch is kept.
            EngineUnavailable: the server could not be reached, or another session took over.
        """
        dimensions = self._lease.before.schema.dimensions
        kept = [IndexedDocument(each.document, checked_vector(each.vector, dimensions)) for each in batch]
        for each in kept:
            check_keywords(validate_document(each.document))
        latest = list({each.document.id: each for each in kept}.values())
        for start in range(0, len(latest), _PAGE):
            self._write(latest[start : start + _PAGE])

    def delete(self, ids: Iterable[str]) -> None:
        """Removes documents; unknown ids are ignored."""
        wanted = storable(ids)
        for page in (wanted[start : start + _PAGE] for start in range(0, len(wanted), _PAGE)):
            self._begin_change()
            own = [Action({"delete": {"_id": physical_id(each, self._session)}}) for each in page]
            self._all_done(send(self._server, self._index, own))
            self._end_versions(page)

    def _write(self, items: Sequence[IndexedDocument]) -> None:
        self._begin_change()
        names = [physical_id(each.document.id, self._session) for each in items]
        sources = sources_of(items, self._terms, self._session)
        actions = [
            Action({"index": {"_id": name}}, source) for name, source in zip(names, sources, strict=True)
        ]
        failures = send(self._server, self._index, actions)
        if failures:
            withdrawn = [Action({"delete": {"_id": name}}) for name in names]
            self._all_done(send(self._server, self._index, withdrawn))
            raise RefusedDocuments(
                InvalidDocument(
                    items[each.position].document.id, f"refused by the server: {each.status} {each.reason}"
                )
                for each in failures
            )
        self._end_versions([each.document.id for each in items])

    def _begin_change(self) -> None:
        self._lease.beat()
        self.changed = True

    def _end_versions(self, ids: Sequence[str]) -> None:
        """Marks the visible versions of these ids as ended by this session."""
        if not self._lease.before.generation:
            return
        wanted = narrowed(self._exists, {"terms": {"id": list(ids)}})
        body = listed(wanted, len(ids), ["*"]) | {"seq_no_primary_term": True}
        hits = self._unended(self._server.call("POST", f"/{self._index}/_search", body)["hits"]["hits"])
        for _ in range(_ATTEMPTS):
            if not hits:
                return
            marks = [_written(hit, hit["_source"] | {"died": self._session}) for hit in hits]
            failures = send(self._server, self._index, marks)
            self._all_done([each for each in failures if each.status != 409])
            hits = self._unended(self._newest([hits[each.position]["_id"] for each in failures]))
        raise EngineUnavailable(f"{self._index}: another process changes the same documents all the time")

    def _newest(self, names: Sequence[str]) -> list[Json]:
        """The current form of versions that changed since they were searched."""
        if not names:
            return []
        found = self._server.call("POST", f"/{self._index}/_mget", {"ids": list(names)})["docs"]
        if any("error" in each for each in found):
            raise EngineUnavailable(f"{self._index}: the server cannot read what it holds")
        return [each for each in found if each["found"]]

    def _unended(self, hits: Sequence[Json]) -> list[Json]:
        """The versions that this session has not ended yet.

        Raises:
            EngineUnavailable: a later session ended one: this one was taken for dead.
        """
        ends = [hit["_source"].get("died", 0) for hit in hits]
        if any(end > self._session for end in ends):
            raise EngineUnavailable(
                f"{self._index}: another process took over; nothing was changed: try again"
            )
        return [hit for hit, end in zip(hits, ends, strict=True) if end != self._session]

    def _all_done(self, failures: Sequence[RefusedAction]) -> None:
        if failures:
            raise EngineUnavailable(f"{self._index}: {failures[0].status}: {failures[0].reason}")


_DELETED: Json = {"size": 1_000, "_source": False}
_UNMARKED_AT_ONCE = 200


def refuse_later(server: SearchServer, index: str, session: int, name: str) -> None:
    """Refuses an index that sessions later than the state's have written: their numbers would come again.

    Raises:
        ForeignState: it holds versions of this session or a later one, before this one wrote any.
    """
    later: Json = {"gte": session}
    either = [{"range": {"born": later}}, {"range": {"died": later}}]
    body = {"size": 1, "query": {"bool": {"should": either, "minimum_should_match": 1}}, "_source": False}
    if server.call("POST", f"/{index}/_search", body)["hits"]["hits"]:
        raise ForeignState(name, f"{index} holds what was written after its state")


Beat = Callable[[], None]
"""Renews the lease of the session that cleans; raises where another one has it."""


def clean(server: SearchServer, index: str, state: IndexState, beat: Beat) -> None:
    """Deletes versions that ended before the last commit, and undoes the writes of aborted sessions.

    What the last commit itself ended stays until the next one: a search may still read the state before.
    """
    if state.aborted:
        server.call("POST", f"/{index}/_refresh")
        died: Json = {"query": {"terms": {"died": list(state.aborted)}}, "size": _UNMARKED_AT_ONCE}
        _change_all(server, index, died | {"seq_no_primary_term": True}, _unmarked, beat)
        born: Json = {"query": {"terms": {"born": list(state.aborted)}}}
        _change_all(server, index, born | _DELETED, _deletion, beat)
    long_gone: Json = {"range": {"died": {"lt": state.generation}}}
    unless = [{"terms": {"died": list(state.aborted)}}] if state.aborted else []
    ended: Json = {"query": {"bool": {"filter": [long_gone], "must_not": unless}}}
    _change_all(server, index, ended | _DELETED, _deletion, beat)


def _change_all(
    server: SearchServer, index: str, search: Json, change: Callable[[Json], Action], beat: Beat
) -> None:
    """Changes every version that a search finds, page by page.

    Raises:
        EngineUnavailable: the server refused every action of a page, and would refuse them again.
    """
    while True:
        beat()
        hits = server.call("POST", f"/{index}/_search", search | {"sort": BY_ID})["hits"]["hits"]
        refused = send(server, index, [change(hit) for hit in hits])
        if hits:
            server.call("POST", f"/{index}/_refresh")
        if len(hits) < search["size"]:
            return
        if len(refused) == len(hits):
            raise EngineUnavailable(f"{index}: {refused[0].status}: {refused[0].reason}")


def _deletion(hit: Json) -> Action:
    return Action({"delete": {"_id": hit["_id"]}})


def _unmarked(hit: Json) -> Action:
    """Without the mark of an aborted session, before its number is forgotten."""
    return _written(hit, {name: value for name, value in hit["_source"].items() if name != "died"})


def _written(hit: Json, source: Json) -> Action:
    """A version with another source, where it is still the one that was read."""
    condition = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return Action({"index": {"_id": hit["_id"], **condition}}, restored(source))
