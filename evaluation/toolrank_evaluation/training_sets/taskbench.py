"""TaskBench: requests labelled by the structure of the tasks behind them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from toolrank_evaluation.training_sets.records import read_records

LICENCE = "MIT"


def read_taskbench(path: Path) -> Iterator[tuple[str, bool]]:
    """Pairs (request, whether it needs several tools): `chain` and `dag` do, `single` does not.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    for record in read_records(path):
        yield record["query"], record["structure"] != "single"
