"""`kitpick tune`: better settings of a profile for your own catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from kitpick.cli.console import OUT, note, print_json, print_table
from kitpick.cli.evaluate import (
    DatasetArgument,
    LimitOption,
    QueriesOption,
    SeedOption,
    check_profile_file,
    open_judged,
)
from kitpick.cli.options import CatalogOption, DataOption, JsonOption
from kitpick.cli.progress import progress
from kitpick.evaluation.measuring import Plan
from kitpick.evaluation.profile_tuning import tune_profile
from kitpick_evaluation.report import write_whole
from kitpick_evaluation.tuning.search import Effort
from kitpick_evaluation.tuning.space import parse_choice, usual_space
from kitpick_evaluation.tuning.tune import HELD_OUT, Tuned, TuneOptions, TuneReport, figure_depth
from kitpick_rescorers import DEFAULT_PROFILE
from kitpick_rescorers.profiles import load_profile, profile_toml


def tune(
    dataset: DatasetArgument = None,
    data: DataOption = Path("data"),
    queries: QueriesOption = None,
    catalog: CatalogOption = None,
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="Profile to start from: a name or a .toml file.")
    ] = DEFAULT_PROFILE,
    choice: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Field to tune: STAGE.FIELD=VALUE,VALUE,… or STAGE.FIELD=LOW:HIGH:STEP. Repeatable. "
            "Default: the usual fields of the profile's stages.",
        ),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", "-m", help="Metric to maximise.")] = "ndcg@5",
    trials: Annotated[int, typer.Option("--trials", min=1, help="Number of settings to try.")] = 200,
    method: Annotated[
        Literal["bayes", "grid"],
        typer.Option("--method", help="Bayesian search, or all combinations of the values."),
    ] = "bayes",
    held_out: Annotated[
        float,
        typer.Option(
            "--held-out", min=0.05, max=0.95, help="Share of the requests kept aside to judge the result."
        ),
    ] = HELD_OUT,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the profile to this .toml file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Searches for better settings of a profile, on requests whose right answers are known.

    The result is judged on requests that were not searched on. The table shows how far each setting can be
    moved without a loss. Cross-encoder scores are computed once for all settings.
    """
    figure_depth(metric)
    if output:
        check_profile_file(output)
    options = TuneOptions(figure=metric, effort=Effort(trials, method, seed), held_out=held_out)
    plan = Plan(profiles=(profile,), limit=limit)
    choices = [parse_choice(text) for text in choice] if choice else usual_space(load_profile(profile))
    with open_judged(dataset, data, queries, catalog, plan) as judged:
        tuned = tune_profile(judged, profile, choices, plan, options, progress())
    if output:
        write_whole(output, profile_toml(tuned.profile, _comment(tuned.report)).encode())
        note(f"use it with --profile {output}")
    print_json(tuned.report) if as_json else _print(tuned)


def _comment(report: TuneReport) -> str:
    low, high = report.after.interval
    return (
        f"Tuned on {report.tuned_on} requests for {report.figure}, judged on {report.held_out} others:\n"
        f"{report.after.mean:.4f} (95 % {low:.4f} to {high:.4f}), before {report.before.mean:.4f},"
        f" p = {report.p:.4f}."
    )


def _print(tuned: Tuned) -> None:
    report = tuned.report
    table = Table("field", "chosen", "as good within one standard error", "worst value costs")
    for field in report.flat:
        near = ", ".join(f"{value:g}" for value in field.near)
        table.add_row(field.name, f"{field.chosen:g}", near, f"{100 * field.cost:.1f}")
    print_table(table)
    OUT.print("\n".join(_summary(report)), soft_wrap=True)


def _summary(report: TuneReport) -> Iterator[str]:
    near = f"{report.near:.0%} of them are within one standard error of the best"
    yield f"{report.tried} settings tried, {report.finished} to the end; {near}."
    before = _percent(report.before.mean, report.before.interval)
    after = _percent(report.after.mean, report.after.interval)
    others = f"on {report.held_out} requests that did not choose (p = {report.p:.4f})"
    yield f"{report.figure}: {before} before, {after} after, {others};"
    yield f"{100 * report.tuned_figure:.1f} on the {report.tuned_on} that did."
    if report.abstention:
        sure = report.abstention
        rates = f"{sure.false_alarms:.0%} of answerable and {sure.caught:.0%} of unanswerable requests"
        yield f"Abstains from {rates}."


def _percent(mean: float, interval: tuple[float, float]) -> str:
    return f"{100 * mean:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"
