"""A file of judged requests over your own catalog, one a line.

`{"query": "write to Bob", "relevant": ["crm/mail/send"], "id": "7", "subset": "mail"}`; `id` and `subset` may
be left out. `relevant` lists the ids of the APIs that the request needs. A list of ids in it is a group of
equally right ones, of which one is needed: `[["a", "b"], "c"]`. An empty `relevant` says that nothing in the
catalog does it. Other fields are the user's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.json_lines import read_json_lines

Needed: TypeAlias = tuple[str | Annotated[tuple[str, ...], msgspec.Meta(min_length=1)], ...]


class QueryLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the file."""

    query: str
    relevant: Needed
    """Ids of the APIs that the request needs, and groups of equally right ones."""
    id: str = ""
    subset: str = "all"
    irrelevant: tuple[str, ...] = ()
    """Looked at and found wrong. An evaluation counts whatever is not relevant as irrelevant."""


class _Request(QueryLine, frozen=True):
    relevant: Needed = ()


def queries_file(path: Path) -> tuple[JudgedQuery, ...]:
    """The requests of the file; a line without an id gets its number.

    A line with irrelevant APIs alone does not say yet what is right, and is left out.

    Raises:
        InvalidDataset: the file is missing, a line is not such an object, or asks what another one asked.
    """
    return _read(path, QueryLine)


def requests_file(path: Path) -> tuple[JudgedQuery, ...]:
    """Requests in the format of `queries_file`; judgements are optional.

    Raises:
        InvalidDataset: as `queries_file`; or there is none, or one is empty.
    """
    requests = _read(path, _Request)
    if not requests or not all(request.text.strip() for request in requests):
        raise InvalidDataset(f"{path}: every line needs a query, and there must be one")
    return requests


def unused_fields(path: Path) -> tuple[str, ...]:
    """Names of the fields of the file that an evaluation does not read, in order.

    Raises:
        InvalidDataset: the file is missing, or a line is no object.
    """
    known = {field.name for field in msgspec.structs.fields(QueryLine)}
    return tuple(sorted({name for line in read_json_lines(path, dict) for name in line} - known))


def _judged(line: QueryLine, id_: str) -> JudgedQuery:
    needed = [frozenset({item}) if isinstance(item, str) else frozenset(item) for item in line.relevant]
    groups = tuple(dict.fromkeys(needed))
    relevant = frozenset[str]().union(*groups)
    several = any(len(group) > 1 for group in groups)
    return JudgedQuery(id_, line.query, relevant, line.subset, groups if several else ())


def _read(path: Path, kind: type[QueryLine]) -> tuple[JudgedQuery, ...]:
    queries = []
    first: dict[str, str] = {}
    for number, line in enumerate(read_json_lines(path, kind), start=1):
        query = _judged(line, line.id or str(number))
        if query.text in first:
            raise InvalidDataset(
                f"{path}: queries {first[query.text]!r} and {query.id!r} ask the same: keep one of them,"
                " with the relevant APIs of both"
            )
        first[query.text] = query.id
        if line.relevant or not line.irrelevant:
            queries.append(query)
    return tuple(queries)
