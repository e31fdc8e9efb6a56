"""`toolrank eval`: how good are the profiles on requests whose answers are known?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import print_json, print_table
from toolrank.cli.options import CatalogOption, DataOption, JsonOption
from toolrank.cli.progress import progress
from toolrank.evaluating import evaluate_dataset, evaluate_queries
from toolrank_evaluation.datasets.opening import DATASETS
from toolrank_evaluation.evaluate import Report
from toolrank_rescorers.profiles import shipped_profiles

DatasetArgument = Annotated[
    str | None,
    typer.Argument(help=f"One of {', '.join(DATASETS)}, or a folder in BEIR layout.", metavar="DATASET"),
]


def evaluate_command(
    dataset: DatasetArgument = None,
    data: DataOption = Path("data"),
    queries: Annotated[
        Path | None, typer.Option("--queries", help="Your own judged requests over --catalog (JSON lines).")
    ] = None,
    catalog: CatalogOption = None,
    profile: Annotated[
        list[str] | None,
        typer.Option("--profile", "-p", help="Profile to try. Repeatable; default: all shipped."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many requests, spread evenly.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Column of the table. Repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ranks requests with known answers, and prints NDCG, recall, completeness and MRR per subset.

    A named dataset is taken into a catalog of its own first; --queries judges your own catalog.
    """
    if (dataset is None) == (queries is None):
        raise typer.BadParameter("give either a DATASET or --queries FILE")
    profiles = profile or list(shipped_profiles())
    if queries is not None:
        with Catalog.open(catalog) as opened:
            report = evaluate_queries(opened, queries, profiles, limit, progress())
    else:
        report = evaluate_dataset(str(dataset), data, profiles, limit, progress())
    print_json(report) if as_json else print_report(report, metric or ["ndcg@5", "recall@5", "comp@5", "mrr"])


def print_report(report: Report, metrics: list[str]) -> None:
    """One row a subset and profile, figures in percent."""
    unknown = [name for name in metrics if name not in report.rows[0].figures]
    if unknown:
        known = ", ".join(report.rows[0].figures)
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; known are {known}", param_hint="--metric")
    table = Table("subset", "profile", "requests", *metrics, title=f"{report.dataset}, figures in %")
    subset = report.rows[0].subset
    for row in sorted(report.rows, key=lambda row: [r.subset for r in report.rows].index(row.subset)):
        if row.subset != subset:
            table.add_section()
            subset = row.subset
        table.add_row(
            row.subset, row.profile, str(row.queries), *(f"{100 * row.figures[m]:.1f}" for m in metrics)
        )
    print_table(table)
