"""A catalog with requests whose right answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.errors import suggestion
from kitpick_ingest.source import Source


class JudgedQuery(msgspec.Struct, frozen=True):
    """A request and the ids of the APIs that are right for it."""

    id: str
    text: str
    relevant: frozenset[str]
    """Empty where no API of the catalog does what is asked."""
    subset: str = "all"
    groups: tuple[frozenset[str], ...] = ()
    """Sets of equally right APIs, disjoint and together all relevant ones: one of each set is needed.

    Empty where every relevant API is needed."""

    @property
    def needed(self) -> tuple[frozenset[str], ...]:
        """The needs of the request: one API of each of these sets."""
        return self.groups or tuple(frozenset({api}) for api in sorted(self.relevant))

    def counted(self, ranking: Sequence[str]) -> list[str]:
        """The ranking for judging: of each set of `needed` only the first API counts, under one common name.

        A further API of the same set counts as one that is not needed, as in α-NDCG with α = 1 (Clarke et
        al., SIGIR 2008). Without groups it is the ranking itself.
        """
        if not self.groups:
            return list(ranking)
        names = {api: min(group) for group in self.groups for api in group}
        taken: set[str] = set()
        counted = []
        for api in ranking:
            name = names.get(api, api)
            # In an id, % stands only before hexadecimal digits: no other API is called so.
            counted.append(f"{api}%again" if name in taken else name)
            taken.add(name)
        return counted

    @property
    def counted_relevant(self) -> frozenset[str]:
        """The names in `counted` that are relevant: one for each set of `needed`."""
        return frozenset(map(min, self.needed))


class Dataset(msgspec.Struct, frozen=True):
    """A source of documents, and judged requests over them."""

    name: str
    source: Source
    queries: tuple[JudgedQuery, ...]


def check_dataset(dataset: Dataset) -> Dataset:
    """Returns the dataset if all its judgements are valid.

    Raises:
        InvalidDataset: as `check_queries`.
    """
    known = {item.id for item in dataset.source.read() if isinstance(item, ApiDocument)}
    check_queries(dataset.name, dataset.queries, known)
    return dataset


def check_queries(
    name: str, queries: Sequence[JudgedQuery], known: Set[str], *, unanswerable: bool = False
) -> None:
    """Refuses requests that cannot be judged over a catalog with these ids.

    With `unanswerable` a request may be without relevant APIs; `name` is that of the dataset.

    Raises:
        InvalidDataset: no queries, a repeated query id, a query without relevant APIs, with unknown ones, or
            with one in two groups.
    """
    if not queries:
        raise InvalidDataset(f"dataset {name!r} has no queries")
    seen: set[str] = set()
    for query in queries:
        _check_query(name, query, known)
        if not (query.relevant or unanswerable):
            raise InvalidDataset(f"dataset {name!r}: query {query.id!r} has no relevant APIs")
        if query.id in seen:
            raise InvalidDataset(f"dataset {name!r}: query id {query.id!r} occurs twice")
        seen.add(query.id)


def _check_query(name: str, query: JudgedQuery, known: Set[str]) -> None:
    if not query.text.strip():
        raise InvalidDataset(f"dataset {name!r}: query {query.id!r} is empty")
    if query.groups and sum(map(len, query.groups)) > len(query.relevant):
        raise InvalidDataset(f"dataset {name!r}: query {query.id!r} names an API in two groups")
    unknown = sorted(query.relevant - known)
    if unknown:
        raise InvalidDataset(
            f"dataset {name!r}: query {query.id!r} names APIs that the catalog lacks ({len(unknown)}),"
            f" e.g. {unknown[0]!r}: {suggestion(unknown[0], sorted(known)) or 'it is empty'}"
        )


def select(queries: Iterable[JudgedQuery], limit: int | None) -> tuple[JudgedQuery, ...]:
    """At most `limit` queries, spread evenly over the given order so that every subset stays represented."""
    listed = tuple(queries)
    if limit is None or limit >= len(listed):
        return listed
    return tuple(listed[index * len(listed) // limit] for index in range(limit))
