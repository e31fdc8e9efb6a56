"""A catalog with requests whose right answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import msgspec

from toolrank_engines.document import ApiDocument
from toolrank_evaluation.errors import InvalidDataset
from toolrank_ingest.source import Source


class JudgedQuery(msgspec.Struct, frozen=True):
    """A request and the ids of every API that it needs."""

    id: str
    text: str
    relevant: frozenset[str]
    subset: str = "all"


class Dataset(msgspec.Struct, frozen=True):
    """Where the documents come from, and the judged requests over them."""

    name: str
    source: Source
    queries: tuple[JudgedQuery, ...]


def check_dataset(dataset: Dataset) -> Dataset:
    """Returns the dataset unchanged when every judgement can be met.

    Raises:
        InvalidDataset: as `check_queries`.
    """
    known = {item.id for item in dataset.source.read() if isinstance(item, ApiDocument)}
    check_queries(dataset.name, dataset.queries, known)
    return dataset


def check_queries(name: str, queries: Sequence[JudgedQuery], known: Set[str]) -> None:
    """Refuses requests that cannot be judged over a catalog with these ids.

    Raises:
        InvalidDataset: no queries, a repeated query id, a query without relevant APIs, or with unknown ones.
    """
    if not queries:
        raise InvalidDataset(f"dataset {name!r} has no queries")
    seen: set[str] = set()
    for query in queries:
        _check_query(name, query, known)
        if query.id in seen:
            raise InvalidDataset(f"dataset {name!r}: query id {query.id!r} occurs twice")
        seen.add(query.id)


def _check_query(name: str, query: JudgedQuery, known: Set[str]) -> None:
    if not query.text.strip():
        raise InvalidDataset(f"dataset {name!r}: query {query.id!r} is empty")
    if not query.relevant:
        raise InvalidDataset(f"dataset {name!r}: query {query.id!r} has no relevant APIs")
    unknown = sorted(query.relevant - known)
    if unknown:
        raise InvalidDataset(
            f"dataset {name!r}: query {query.id!r} names {len(unknown)} APIs that the catalog lacks,"
            f" e.g. {unknown[0]!r}"
        )


def select(queries: Iterable[JudgedQuery], limit: int | None) -> tuple[JudgedQuery, ...]:
    """At most `limit` queries, spread evenly over the given order so that every subset stays represented."""
    listed = tuple(queries)
    if limit is None or limit >= len(listed):
        return listed
    return tuple(listed[index * len(listed) // limit] for index in range(limit))
