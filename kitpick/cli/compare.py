"""`kitpick compare`: profiles, models and engines side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.console import print_json, print_table
from kitpick.cli.evaluate import (
    LimitOption,
    QueriesOption,
    SeedOption,
    check_known,
    open_judged,
    print_report,
)
from kitpick.cli.options import CatalogOption, DataOption, JsonOption
from kitpick.cli.progress import progress
from kitpick.evaluation.comparison import CHANGED, FIGURES, Wishes
from kitpick.evaluation.comparison import compare as compare_systems
from kitpick.evaluation.measuring import TIMED, Plan
from kitpick.evaluation.systems import parse_system
from kitpick_evaluation.comparison import ALPHA, Comparison
from kitpick_evaluation.evaluate import Sampling
from kitpick_evaluation.metrics import CUTOFFS, figure_names

SystemsArgument = Annotated[
    list[str],
    typer.Argument(
        help="PROFILE[,encoder=NAME][,cross_encoder=NAME][,query_kind=NAME]"
        "[,list_ranker=NAME][,catalog=URL], or run:FILE for a TREC run file. Give two or more; the first one "
        "is what the others are compared with.",
        metavar="SYSTEM SYSTEM…",
    ),
]


def compare(
    systems: SystemsArgument,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Name of a dataset, or a folder in BEIR layout.")
    ] = None,
    data: DataOption = Path("data"),
    queries: QueriesOption = None,
    catalog: CatalogOption = None,
    limit: LimitOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="Metric to test. Repeatable; the first one decides which requests are shown.",
        ),
    ] = None,
    changed: Annotated[
        int,
        typer.Option(
            "--changed", min=0, help="Number of requests to show, those with the largest difference."
        ),
    ] = CHANGED,
    timed: Annotated[
        int, typer.Option("--timed", min=0, help="Number of requests to time; 0 for none.")
    ] = TIMED,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compares profiles, models or engines on requests whose right answers are known.

    Tests each pair for significance. With --json also: the requests that differ most, with the work of each
    stage, recall by the number of candidates, and calibration.
    """
    specs = [parse_system(text) for text in systems]
    figures = tuple(metric or FIGURES)
    check_known(figures, figure_names(CUTOFFS), "--metric")
    profiles = tuple(dict.fromkeys(spec.profile for spec in specs if spec.profile))
    plan = Plan(profiles=profiles, limit=limit, sampling=Sampling(seed=seed), timed=timed)
    with open_judged(dataset, data, queries, catalog, plan) as judged:
        found = compare_systems(judged, specs, plan, Wishes(figures, changed), progress())
    print_json(found) if as_json else _print(found, list(figures))


def _print(found: Comparison, figures: list[str]) -> None:
    print_report(found.report, figures, ["subset"])
    table = Table("figure", "pair", "difference, 95 %", "wins/losses", "p", "corrected", "")
    for test in found.tests:
        low, high = test.interval
        table.add_row(
            test.figure,
            f"{test.better} > {test.worse}",
            f"{100 * test.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
            f"{test.wins}/{test.losses}",
            f"{test.p:.4f}",
            f"{test.corrected:.4f}",
            "differ" if test.corrected < ALPHA else "",
        )
    print_table(table)
