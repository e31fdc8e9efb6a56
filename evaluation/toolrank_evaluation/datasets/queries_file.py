"""Your own requests over your catalog: lines of `{"query": …, "relevant": [ids], "id": …, "subset": …}`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.errors import InvalidDataset
from toolrank_evaluation.json_lines import read_json_lines


class QueryLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line."""

    query: str
    relevant: frozenset[str]
    id: str = ""
    subset: str = "all"
    irrelevant: tuple[str, ...] = ()
    """Looked at and found wrong. An evaluation counts whatever is not relevant as irrelevant."""


class _Request(QueryLine, frozen=True, forbid_unknown_fields=True):
    relevant: frozenset[str] = frozenset()


def queries_file(path: Path) -> tuple[JudgedQuery, ...]:
    """The requests of the file; a line without an id gets its number.

    A line with irrelevant APIs alone does not say yet what is right, and is left out.

    Raises:
        InvalidDataset: the file is missing, a line is not such an object, or asks what another one asked.
    """
    return _read(path, QueryLine)


def requests_file(path: Path) -> tuple[JudgedQuery, ...]:
    """Requests like those of `queries_file`, of which nobody needs to have judged any.

    Raises:
        InvalidDataset: as `queries_file`; or there is none, or one is empty.
    """
    requests = _read(path, _Request)
    if not requests or not all(request.text.strip() for request in requests):
        raise InvalidDataset(f"{path}: every line needs a query, and there must be one")
    return requests


def _read(path: Path, kind: type[QueryLine]) -> tuple[JudgedQuery, ...]:
    queries = []
    first: dict[str, str] = {}
    for number, line in enumerate(read_json_lines(path, kind), start=1):
        query = JudgedQuery(line.id or str(number), line.query, line.relevant, line.subset)
        if query.text in first:
            raise InvalidDataset(
                f"{path}: queries {first[query.text]!r} and {query.id!r} ask the same: keep one of them,"
                " with the relevant APIs of both"
            )
        first[query.text] = query.id
        if line.relevant or not line.irrelevant:
            queries.append(query)
    return tuple(queries)
