"""Definitions within a token budget: the best set of slimmed definitions against whole ones by first fit.

Two questions of each budget: is everything that a request needs among the five best that fit (comp@5), and is
it among all that fit (comp)? All ways are given the same ranking of fifty.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from toolrank.cli.progress import progress
from toolrank.evaluating import Plan, judged_dataset
from toolrank_evaluation.dataset import select
from toolrank_ingest.definitions import render_definitions
from toolrank_ingest.slimming import slim_definition
from toolrank_rescorers.packing import best_fit, first_fit, token_counter

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BUDGETS = (200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 4_000)
DEPTH = 50


class Measured(msgspec.Struct):
    """A ranking with the sizes of its definitions."""

    relevant: frozenset[str]
    order: list[str]
    whole: dict[str, int]
    slim: dict[str, int]


Way = Callable[[Measured, int, int], Sequence[str]]
WAYS: dict[str, Way] = {
    "first fit": lambda row, budget, k: first_fit(row.order, row.whole, budget)[:k],
    "first fit, slimmed": lambda row, budget, k: first_fit(row.order, row.slim, budget)[:k],
    "best set, slimmed": lambda row, budget, k: best_fit(row.order, row.slim, budget, k),
}


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--dataset", default="toolbench")
    parser.add_argument("--profile", default="hybrid")
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    rows = _measured(arguments)
    figures: dict[str, float] = {}
    print(f"| tokens | {' | '.join(f'{way}: comp@5, comp' for way in WAYS)} |")
    print("|---" * (len(WAYS) + 1) + "|")
    for budget in BUDGETS:
        cells = []
        for name, way in WAYS.items():
            found = [_complete(rows, way, budget, k) for k in (5, DEPTH)]
            cells.append(", ".join(f"{100 * value:.1f}" for value in found))
            figures |= dict(zip((f"{budget}.{name}.comp@5", f"{budget}.{name}.comp"), found, strict=True))
        print(f"| {budget:,} | {' | '.join(cells)} |")
    print(json.dumps({key: round(value, 4) for key, value in figures.items()} | {"queries": len(rows)}))


def _measured(arguments: argparse.Namespace) -> list[Measured]:
    plan, counter = Plan(profiles=(arguments.profile,), timed=0), token_counter()
    rows = []
    with judged_dataset(arguments.dataset, arguments.data, plan, progress()) as judged:
        for query in select(judged.queries, arguments.limit):
            hits = judged.catalog.search(query.text, DEPTH, profile=arguments.profile).hits
            definitions = render_definitions([hit.document for hit in hits], "openai")
            order = [hit.document.id for hit in hits]
            whole = [counter.count(json.dumps(definition)) for definition in definitions]
            slim = [counter.count(json.dumps(slim_definition(definition))) for definition in definitions]
            sizes = [dict(zip(order, tokens, strict=True)) for tokens in (whole, slim)]
            rows.append(Measured(query.relevant, order, *sizes))
    return rows


def _complete(rows: Sequence[Measured], way: Way, budget: int, k: int) -> float:
    return sum(row.relevant <= set(way(row, budget, k)) for row in rows) / len(rows)


if __name__ == "__main__":
    main()
