"""One write session. What it writes is in the index at once and visible after the commit.

A new version of a document lies beside the one it replaces; that one is marked with the session that ends
it. Marks are made only where the sequence number is still the one that was read, so that a mark of a
session that is taken for dead, and arrives late, cannot undo another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolrank_engines.contract import IndexedDocument
from toolrank_engines.document import ApiDocument, validate_document
from toolrank_engines.errors import EngineUnavailable, InvalidDocument, RefusedDocuments
from toolrank_engines.lexical.terms import Terms
from toolrank_engines.remote.bulk import Action, Failure, send
from toolrank_engines.remote.lease import Lease
from toolrank_engines.remote.queries import committed, listed, narrowed, storable
from toolrank_engines.remote.server import Json, Server
from toolrank_engines.remote.sources import check_keywords, physical_id, restored, sources_of
from toolrank_engines.vectors import checked

_PAGE = 500
_ATTEMPTS = 10


class RemoteWriter:
    """The `Writer` of search servers. For one thread at a time."""

    def __init__(self, server: Server, index: str, lease: Lease, terms: Terms) -> None:
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
        kept = [IndexedDocument(each.document, checked(each.vector, dimensions)) for each in batch]
        for each in kept:
            check_keywords(validate_document(each.document))
        latest = list({each.document.id: each for each in kept}.values())
        for start in range(0, len(latest), _PAGE):
            self._write(latest[start : start + _PAGE])

    def delete(self, ids: Iterable[str]) -> None:
        """Removes documents; unknown ids are ignored."""
        for page in _pages(storable(ids)):
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
            raise RefusedDocuments(_refusal(items[each.position].document, each) for each in failures)
        self._end_versions([each.document.id for each in items])

    def _begin_change(self) -> None:
        self._lease.beat()
        self.changed = True

    def _end_versions(self, ids: Sequence[str]) -> None:
        """Marks what is visible of these ids as ended by this session."""
        if not self._lease.before.generation:
            return
        wanted = narrowed(self._exists, {"terms": {"id": list(ids)}})
        body = listed(wanted, len(ids), ["*"]) | {"seq_no_primary_term": True}
        hits = self._unended(self._server.call("POST", f"/{self._index}/_search", body)["hits"]["hits"])
        for _ in range(_ATTEMPTS):
            if not hits:
                return
            failures = send(self._server, self._index, [self._mark(hit) for hit in hits])
            self._all_done([each for each in failures if each.status != 409])
            hits = self._unended(self._newest([hits[each.position]["_id"] for each in failures]))
        raise EngineUnavailable(f"{self._index}: another process changes the same documents all the time")

    def _mark(self, hit: Json) -> Action:
        condition = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
        source = restored(hit["_source"]) | {"died": self._session}
        return Action({"index": {"_id": hit["_id"], **condition}}, source)

    def _newest(self, names: Sequence[str]) -> list[Json]:
        """Versions that were changed since they were searched, as they are now."""
        if not names:
            return []
        found = self._server.call("POST", f"/{self._index}/_mget", {"ids": list(names)})["docs"]
        if any("error" in each for each in found):
            raise EngineUnavailable(f"{self._index}: the server cannot read what it holds")
        return [each for each in found if each["found"]]

    def _unended(self, hits: Sequence[Json]) -> list[Json]:
        """Those that this session has not ended yet.

        Raises:
            EngineUnavailable: a later session ended one: this one was taken for dead.
        """
        ends = [hit["_source"].get("died", 0) for hit in hits]
        if any(end > self._session for end in ends):
            raise EngineUnavailable(
                f"{self._index}: another process took over; nothing was changed: try again"
            )
        return [hit for hit, end in zip(hits, ends, strict=True) if end != self._session]

    def _all_done(self, failures: Sequence[Failure]) -> None:
        if failures:
            raise EngineUnavailable(f"{self._index}: {failures[0].status}: {failures[0].reason}")


def _pages(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))


def _refusal(document: ApiDocument, failure: Failure) -> InvalidDocument:
    return InvalidDocument(document.id, f"refused by the server: {failure.status} {failure.reason}")
