"""Your own requests over your catalog: lines of `{"query": …, "relevant": [ids], "id": …, "subset": …}`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.json_lines import read_json_lines


class _Query(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    relevant: frozenset[str]
    id: str = ""
    subset: str = "all"


def queries_file(path: Path) -> tuple[JudgedQuery, ...]:
    """The requests of the file; a line without an id gets its number.

    Raises:
        InvalidDataset: the file is missing, or a line is not such an object.
    """
    return tuple(
        JudgedQuery(line.id or str(number), line.query, line.relevant, line.subset)
        for number, line in enumerate(read_json_lines(path, _Query), start=1)
    )
