"""Finds documents that somebody else wrote again, and that searches no longer find or misread.

`vector` and `words` are not in the stored source. A server that builds a document again from its source, for
`_update`, `_update_by_query` or `_reindex`, leaves them out. Our own sessions write every version once;
versions that were written more often are compared with what their document says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from kitpick_engines.errors import CorruptStore
from kitpick_engines.lexical import FIELDS, Terms, field_lengths, indexed_fields
from kitpick_engines.remote.mapping import EXCLUDED_FROM_SOURCE
from kitpick_engines.remote.queries import BY_SOURCE
from kitpick_engines.remote.server import Json, SearchServer
from kitpick_engines.remote.sources import document_of
from kitpick_engines.text import rerank_text

_READ_AT_ONCE = 500


def lacking(fields: Iterable[str] = EXCLUDED_FROM_SOURCE) -> Json:
    """The query for documents without one of the fields that only a session of ours writes."""
    absent = [{"bool": {"must_not": [{"exists": {"field": field}}]}} for field in fields]
    return {"bool": {"should": absent, "minimum_should_match": 1}}


def lacking_by_field() -> Json:
    """The aggregation that counts them by source and field."""
    by_field = {field: {"filter": lacking([field])} for field in EXCLUDED_FROM_SOURCE}
    return {"sources": BY_SOURCE | {"aggs": by_field}}


def counted(aggregations: Json) -> dict[str, dict[str, int]]:
    """What `lacking_by_field` counted: documents by field, by source, without sources that lack nothing."""
    found = {
        each["key"]: {field: int(each[field]["doc_count"]) for field in EXCLUDED_FROM_SOURCE}
        for each in aggregations["sources"]["buckets"]
    }
    return {source: fields for source, fields in found.items() if any(fields.values())}


def rewritten(server: SearchServer, index: str, hits: Sequence[Json], terms: Terms) -> set[str]:
    """The `_id`s of those hits (with `_version`) that no longer hold what their document says."""
    suspects = [hit["_id"] for hit in hits if hit["_version"] > 1]
    wrong: set[str] = set()
    for start in range(0, len(suspects), _READ_AT_ONCE):
        ids = suspects[start : start + _READ_AT_ONCE]
        found = server.call("POST", f"/{index}/_mget", {"ids": ids})["docs"]
        wrong.update(each["_id"] for each in found if not is_derived(each.get("_source", {}), terms))
    return wrong


def is_derived(source: Mapping[str, object], terms: Terms) -> bool:
    """Whether everything that a session derives from a document is what it would derive from this one."""
    try:
        document = document_of(dict(source))
    except CorruptStore:
        return False
    fields = indexed_fields(document)
    (counts,) = terms.of_documents([fields])
    lengths = np.frombuffer(field_lengths(fields), "<u2").tolist()
    expected = {
        "content_hash": document.content_hash,
        "text": rerank_text(document),
        "tool_key": document.tool_key,
        "public": not document.allowed,
        "tenant": document.tenant,
        "counts": msgspec.to_builtins(counts),
        "lengths": dict(zip(FIELDS, lengths, strict=True)),
    }
    return all(source.get(name) == value for name, value in expected.items())
