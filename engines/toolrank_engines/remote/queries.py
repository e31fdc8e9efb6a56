"""Queries in the language that both servers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolrank_engines.contract import Filter
from toolrank_engines.remote.server import Json
from toolrank_engines.remote.state import IndexState

MAX_WINDOW = 10_000
"""Hits that a search returns at most, by the servers' own default."""
BEST_FIRST: list[Json] = [{"_score": "desc"}, {"id": "asc"}]
BY_ID: list[Json] = [{"id": "asc"}]


def committed(index: IndexState) -> list[Json]:
    """Filters for the documents that exist in the last committed state of an index."""
    born: Json = {"range": {"born": {"lte": index.generation}}}
    died: Json = {"range": {"died": {"lte": index.generation}}}
    hidden = [session for session in index.hidden if session <= index.generation]
    if not hidden:
        return [born, {"bool": {"must_not": [died]}}]
    really_died = {"bool": {"filter": [died], "must_not": [{"terms": {"died": hidden}}]}}
    return [born, {"bool": {"must_not": [{"terms": {"born": hidden}}, really_died]}}]


def visible(wanted: Filter, index: IndexState) -> Json:
    """The query for what a filter shows of the last committed state."""
    filters = [*committed(index), _permitted(wanted), {"terms": {"tenant": storable({"", wanted.tenant})}}]
    for field, values in (("category", wanted.categories), ("tool_key", wanted.tools)):
        if values:
            filters.append({"terms": {field: storable(values)}})
    if wanted.effects:
        filters.append({"terms": {"effect": sorted(effect.value for effect in wanted.effects)}})
    if wanted.deprecated != "include":
        filters.append({"term": {"deprecated": wanted.deprecated == "only"}})
    return {"bool": {"filter": filters}}


def _permitted(wanted: Filter) -> Json:
    public: Json = {"term": {"public": True}}
    principals = storable(wanted.principals)
    if not principals:
        return public
    return {"bool": {"should": [public, {"terms": {"allowed": principals}}], "minimum_should_match": 1}}


def storable(values: Iterable[str]) -> list[str]:
    """Values that can have been stored: a name with a lone surrogate is nobody's."""
    return sorted(value for value in values if value.isascii() or _has_utf8(value))


def _has_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def holding(terms: Sequence[str], shown: Json, size: int, fields: Sequence[str]) -> Json:
    """Search for visible documents that hold one of the terms, the weightiest first."""
    any_term = {"bool": {"should": [{"term": {"words": term}} for term in terms], "minimum_should_match": 1}}
    return {
        "size": size,
        "query": {"bool": {"must": [any_term], "filter": [shown]}},
        "sort": BEST_FIRST,
        "track_total_hits": False,
        "_source": [*fields, "lengths", *(f"counts.{term}" for term in terms)],
    }


def listed(shown: Json, size: int, fields: Sequence[str], after: str | None = None) -> Json:
    """Search for what a query shows, ordered by id, from behind the id `after`."""
    body: Json = {
        "size": size,
        "query": shown,
        "sort": BY_ID,
        "track_total_hits": False,
        "_source": list(fields),
    }
    return body if after is None else body | {"search_after": [after]}


def narrowed(shown: Json, *filters: Json) -> Json:
    """A query with further conditions."""
    return {"bool": {"filter": [shown, *filters]}}
