"""Definitions within a token budget: the best set of slimmed definitions against whole ones by first fit.

Two questions of each budget: is everything that a request needs among the five best that fit (comp@5), and is
it among all that fit (comp)? All ways are given the same ranking of fifty.

`--dataset aws` asks for operations of AWS, whose definitions are long: each request joins the titles of two
usage examples that botocore carries beside its service models, and needs both operations.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import msgspec
from shared_data import DATA

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.evaluation.measuring import Plan, judged_dataset
from kitpick.settings import Settings
from kitpick_engines.document import document_id
from kitpick_evaluation.dataset import JudgedQuery, select
from kitpick_ingest.definitions import render_definitions, slim_definition
from kitpick_rescorers.packing import best_fit, first_fit, token_counter

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
    print(
        f"median of the five best: {_median(rows, 'whole')} tokens whole, {_median(rows, 'slim')} slimmed\n"
    )
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


@contextmanager
def _judged(arguments: argparse.Namespace) -> Iterator[tuple[Catalog, Sequence[JudgedQuery]]]:
    if arguments.dataset != "aws":
        plan = Plan(profiles=(arguments.profile,), timed=0)
        with judged_dataset(arguments.dataset, arguments.data, plan, progress()) as judged:
            yield judged.catalog, judged.queries
        return
    examples = _examples()
    place = Settings().embedding_cache.parent / "evaluation" / "aws.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Catalog.open(f"sqlite:{place}") as catalog:
        catalog.ingest(f"botocore:{','.join(examples)}", name="aws", progress=progress())
        yield catalog, list(_pairs(examples))


def _examples() -> dict[str, list[tuple[str, str]]]:
    """Service → (title, operation) of its examples, without titles that several operations share."""
    from botocore.loaders import create_loader

    loader, found = create_loader(), {}
    for service in loader.list_available_services("examples-1"):
        version = loader.determine_latest_version(service, "examples-1")
        examples = loader.load_service_model(service, "examples-1", version)["examples"]
        titles = {
            (item["title"], operation)
            for operation, items in examples.items()
            for item in items
            if item.get("title")
        }
        shared = Counter(title for title, _ in titles)
        found[service] = sorted((title, operation) for title, operation in titles if shared[title] == 1)
    return {service: titles for service, titles in found.items() if titles}


def _pairs(examples: dict[str, list[tuple[str, str]]]) -> Iterator[JudgedQuery]:
    """Neighbours in the alphabet of titles, where they are examples of two operations."""
    for service, titles in examples.items():
        for (first, one), (second, other) in zip(titles[::2], titles[1::2], strict=False):
            if one != other:
                relevant = frozenset(document_id("aws", service, operation) for operation in (one, other))
                yield JudgedQuery(f"{service}/{one}/{other}", f"{first}, and: {second}", relevant)


def _measured(arguments: argparse.Namespace) -> list[Measured]:
    counter, rows = token_counter(), []
    with _judged(arguments) as (catalog, queries):
        for query in select(queries, arguments.limit):
            hits = catalog.search(query.text, DEPTH, profile=arguments.profile).hits
            definitions = render_definitions([hit.document for hit in hits], "openai")
            order = [hit.document.id for hit in hits]
            whole = [counter.count(json.dumps(definition)) for definition in definitions]
            slim = [counter.count(json.dumps(slim_definition(definition))) for definition in definitions]
            sizes = [dict(zip(order, tokens, strict=True)) for tokens in (whole, slim)]
            rows.append(Measured(query.relevant, order, *sizes))
    return rows


def _median(rows: Sequence[Measured], which: str) -> float:
    """Tokens that the five best definitions take together."""
    return median(sum(getattr(row, which)[key] for key in row.order[:5]) for row in rows)


def _complete(rows: Sequence[Measured], way: Way, budget: int, k: int) -> float:
    return sum(row.relevant <= set(way(row, budget, k)) for row in rows) / len(rows)


if __name__ == "__main__":
    main()
