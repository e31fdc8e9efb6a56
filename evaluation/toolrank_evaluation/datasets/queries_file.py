"""Your own requests over your catalog: lines of `{"query": …, "relevant": [ids], "id": …, "subset": …}`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.errors import InvalidDataset
from toolrank_evaluation.json_lines import read_json_lines


class _Query(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    relevant: frozenset[str]
    id: str = ""
    subset: str = "all"


def queries_file(path: Path) -> tuple[JudgedQuery, ...]:
    """The requests of the file; a line without an id gets its number.

    Raises:
        InvalidDataset: the file is missing, a line is not such an object, or asks what another one asked.
    """
    queries = []
    first: dict[str, str] = {}
    for number, line in enumerate(read_json_lines(path, _Query), start=1):
        query = JudgedQuery(line.id or str(number), line.query, line.relevant, line.subset)
        if query.text in first:
            raise InvalidDataset(
                f"{path}: queries {first[query.text]!r} and {query.id!r} ask the same: keep one of them,"
                " with the relevant APIs of both"
            )
        first[query.text] = query.id
        queries.append(query)
    return tuple(queries)
