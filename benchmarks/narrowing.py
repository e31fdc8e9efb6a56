"""Tools that a request brings along, narrowed to k: how often what it needs stays, and how long it takes.

Requests of ToolBench dev in groups of ten share a list, as the requests of one agent do: what all of them
need, filled up with other APIs of the catalog, as functions of chat completions.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from shared_data import DATA

from kitpick.adapters.offered_tools import OfferedTools
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.dataset import JudgedQuery, select
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_ingest.definitions import render_definitions
from kitpick_ingest.function_names import function_names

GROUP = 10
KEPT = (5, 10, 20)


class Asked(msgspec.Struct):
    """What became of a request."""

    needed: int
    ranks: list[int]
    """Ranks from 1 of what it needs."""
    first: bool
    """Whether its list was new."""
    milliseconds: float


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--offered", type=int, default=120, help="tools of a list")
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    rows = list(_asked(arguments))
    figures: dict[str, float] = {"offered": arguments.offered, "queries": len(rows)}
    print("| kept | recall | complete |")
    print("|---|---|---|")
    for k in KEPT:
        stayed = [sum(rank <= k for rank in row.ranks) / row.needed for row in rows]
        figures[f"recall@{k}"] = float(np.mean(stayed))
        figures[f"complete@{k}"] = float(np.mean([share == 1 for share in stayed]))
        print(f"| {k} | {100 * figures[f'recall@{k}']:.1f} | {100 * figures[f'complete@{k}']:.1f} |")
    for name, first in (("new", True), ("known", False)):
        spent = [row.milliseconds for row in rows if row.first is first]
        for part in (50, 95):
            figures[f"{name} list p{part} ms"] = float(np.percentile(spent, part))
    print(json.dumps({key: round(value, 4) for key, value in figures.items()}))


def _asked(arguments: argparse.Namespace) -> Iterator[Asked]:
    dataset = open_dataset("toolbench", arguments.data)
    documents = {item.id: item for item in dataset.source.read() if isinstance(item, ApiDocument)}
    queries = select(dataset.queries, arguments.limit)
    offered, generator = OfferedTools(Settings()), random.Random(0)
    offered.search("warm up", [{"name": "nothing", "description": "nothing"}], 1)
    try:
        for start in range(0, len(queries), GROUP):
            group = queries[start : start + GROUP]
            yield from _of_one_list(offered, group, _list(group, documents, arguments.offered, generator))
    finally:
        offered.close()


def _list(
    group: Sequence[JudgedQuery], documents: dict[str, ApiDocument], size: int, generator: random.Random
) -> list[ApiDocument]:
    needed = sorted({api for query in group for api in query.relevant})
    others = generator.sample(sorted(documents.keys() - set(needed)), max(0, size - len(needed)))
    listed = [documents[key] for key in (*needed, *others)]
    generator.shuffle(listed)
    return listed


def _of_one_list(
    offered: OfferedTools, group: Sequence[JudgedQuery], listed: list[ApiDocument]
) -> Iterator[Asked]:
    tools = render_definitions(listed, "openai")
    names = dict(zip([document.id for document in listed], function_names(listed), strict=True))
    for place, query in enumerate(group):
        started = time.perf_counter()
        hits = offered.search(query.text, tools, len(tools)).hits
        spent = (time.perf_counter() - started) * 1e3
        ranks = {hit.document.api: hit.rank for hit in hits}
        needed = [ranks.get(names[api], len(tools) + 1) for api in query.relevant]
        yield Asked(len(needed), needed, place == 0, spent)


if __name__ == "__main__":
    main()
