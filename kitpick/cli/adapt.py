"""`kitpick adapt`: fits to a catalog the threshold below which a profile says that nothing here does it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.adaptation import Adapted, AdaptReport, adapt_to_descriptions, adapt_to_requests
from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import OUT, note, print_json, print_table
from kitpick.cli.evaluate import DatasetArgument, LimitOption, QueriesOption, open_judged
from kitpick.cli.options import CatalogOption, DataOption, JsonOption
from kitpick.cli.progress import progress
from kitpick.evaluation import Plan
from kitpick_evaluation.abstention import ALARMS
from kitpick_evaluation.report import write_whole
from kitpick_rescorers.profiles import DEFAULT_PROFILE, profile_toml


def adapt(
    dataset: DatasetArgument = None,
    data: DataOption = Path("data"),
    queries: QueriesOption = None,
    catalog: CatalogOption = None,
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="Profile to adapt: a name or a .toml file.")
    ] = DEFAULT_PROFILE,
    most_false: Annotated[
        float,
        typer.Option(
            "--most-false", min=0.001, max=0.5, help="Largest share of the judged requests to refuse wrongly."
        ),
    ] = ALARMS,
    limit: LimitOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the profile to this .toml file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fits to a catalog the threshold below which a search says that nothing here does what is asked.

    Without requests it asks descriptions of the catalog's own APIs while their tools are hidden. With
    --queries or a dataset it asks judged requests, at least 19 of them, which tells more.
    """
    plan = Plan(profiles=(profile,), limit=limit)
    if dataset is None and queries is None:
        with existing_catalog(catalog) as own:
            adapted = adapt_to_descriptions(own, profile, plan, progress())
    else:
        with open_judged(dataset, data, queries, catalog, plan) as judged:
            adapted = adapt_to_requests(judged, profile, plan, progress(), most_false)
    if output:
        write_whole(output, profile_toml(adapted.profile, "\n".join(_told(adapted.report))).encode())
        note(f"use it with --profile {output}, or name it in KITPICK_PROFILE")
    print_json(adapted.report) if as_json else _print(adapted)


def _print(adapted: Adapted) -> None:
    report = adapted.report
    table = Table("", "before", "adapted")
    table.add_row("threshold", f"{report.threshold_before:.3f}", f"{report.threshold:.3f}")
    refused = "refused with its tool hidden"
    table.add_row(refused, f"{report.caught_before:.0%}", f"{report.caught:.0%}")
    print_table(table)
    OUT.print("\n".join(_told(report)), soft_wrap=True)


def _told(report: AdaptReport) -> Iterator[str]:
    what = "judged requests" if report.basis == "requests" else "descriptions of APIs"
    yield f"Adapted to {report.catalog} by {report.asked} {what}: threshold {report.threshold:.4f}."
    if report.most_false is not None:
        yield f"Of requests like these, at most {report.most_false:.0%} are refused wrongly."
    elif report.threshold < report.threshold_before:
        yield "It is lower: here good answers look less sure than elsewhere, and more of them were refused."
