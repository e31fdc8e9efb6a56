"""`toolrank compare`: profiles, models and engines side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from toolrank.cli.console import note, print_json, print_table
from toolrank.cli.evaluate import LimitOption, QueriesOption, SeedOption, opened, print_report
from toolrank.cli.options import CatalogOption, DataOption, JsonOption
from toolrank.cli.progress import progress
from toolrank.comparing import CHANGED, FIGURES, Wishes
from toolrank.comparing import compare as compare_systems
from toolrank.evaluating import TIMED, Plan
from toolrank.systems import parse_system
from toolrank_evaluation.comparison import ALPHA, Comparison
from toolrank_evaluation.evaluate import Sampling
from toolrank_evaluation.html.page import comparison_page
from toolrank_evaluation.report import write_whole

SystemsArgument = Annotated[
    list[str],
    typer.Argument(
        help="PROFILE[,encoder=NAME][,cross_encoder=NAME][,query_kind=NAME][,catalog=URL], or run:FILE with "
        "a TREC run. Two or more; the others are shown beside the first.",
        metavar="SYSTEM SYSTEM…",
    ),
]


def compare(
    systems: SystemsArgument,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="A dataset by name, or a folder in BEIR layout.")
    ] = None,
    data: DataOption = Path("data"),
    queries: QueriesOption = None,
    catalog: CatalogOption = None,
    limit: LimitOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="Figure to test. Repeatable; the first chooses what is shown."),
    ] = None,
    changed: Annotated[
        int, typer.Option("--changed", min=0, help="How many of the requests that changed most are shown.")
    ] = CHANGED,
    timed: Annotated[
        int, typer.Option("--timed", min=0, help="Of how many requests the time is taken; 0 for none.")
    ] = TIMED,
    seed: SeedOption = 0,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one self-contained page to this file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compares systems on requests with known answers: figures, paired significance, what changed and why.

    The page needs no network. It shows the texts of the requests that changed most.
    """
    specs = [parse_system(text) for text in systems]
    figures = tuple(metric or FIGURES)
    profiles = tuple(dict.fromkeys(spec.profile for spec in specs if spec.profile))
    plan = Plan(profiles=profiles, limit=limit, sampling=Sampling(seed=seed), timed=timed)
    with opened(dataset, data, queries, catalog, plan) as judged:
        found = compare_systems(judged, specs, plan, Wishes(figures, changed), progress())
    if html:
        write_whole(html, comparison_page(found).encode())
        note(f"the page is {html}")
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
