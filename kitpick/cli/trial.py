"""`kitpick trial`: two profiles on live traffic, and which of them users prefer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import JsonOption
from kitpick.trial import ProfileTrial, TrialPlan, TrialReport
from kitpick_evaluation.interleaving import Score
from kitpick_rescorers.profiles import load_profile

trial = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Lets two profiles answer live requests, and compares them.",
)
FileArgument = Annotated[
    Path, typer.Argument(help="File of the trial; KITPICK_TRIAL names it for searches.", metavar="FILE")
]


@trial.command()
def start(
    file: FileArgument,
    candidate: Annotated[str, typer.Option("--candidate", help="Profile to try: a name or a .toml file.")],
    baseline: Annotated[
        str, typer.Option("--baseline", help="Profile that answers today: a name or a .toml file.")
    ] = "kitpick",
    alpha: Annotated[
        float,
        typer.Option("--alpha", min=1e-6, max=0.5, help="Probability of a wrong result that you accept."),
    ] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Begins a trial: searches with KITPICK_TRIAL=FILE are answered by both profiles, interleaved."""
    plan = TrialPlan(_found_anywhere(baseline), _found_anywhere(candidate), alpha)
    ProfileTrial(file).start(plan)
    if as_json:
        print_json(plan)
    else:
        note(f"started: set KITPICK_TRIAL={file.absolute()} where searches are served and feedback is given")
        note(f"what users chose: kitpick trial report {file}")


def _found_anywhere(profile: str) -> str:
    """The profile's name, or the whole path of its file: searches run in other folders."""
    load_profile(profile)
    return str(Path(profile).absolute()) if profile.endswith(".toml") else profile


@trial.command()
def report(file: FileArgument, as_json: JsonOption = False) -> None:
    """Shows what users chose so far. It may be looked at any time without harm to its result."""
    found = ProfileTrial(file).report()
    print_json(found) if as_json else _print(found)


@trial.command()
def promote(file: FileArgument, as_json: JsonOption = False) -> None:
    """Ends the trial: the candidate answers alone from now on."""
    trial = ProfileTrial(file)
    plan = trial.end("promoted")
    if as_json:
        print_json(plan)
    else:
        note(f"{plan.candidate} answers alone from now on: {trial.report().summary}")


@trial.command()
def stop(file: FileArgument, as_json: JsonOption = False) -> None:
    """Ends the trial, or takes a promotion back: the baseline answers alone from now on."""
    plan = ProfileTrial(file).end("stopped")
    print_json(plan) if as_json else note(f"{plan.baseline} answers alone from now on")


def _print(found: TrialReport) -> None:
    title = f"{found.plan.baseline} and {found.plan.candidate}, {found.plan.state}"
    table = Table("tenant", f"for {found.plan.baseline}", f"for {found.plan.candidate}", "tied", title=title)
    for tenant, score in sorted(found.by_tenant.items()):
        table.add_row(tenant or "none", *_cells(score))
    table.add_row("all", *_cells(found.score))
    print_table(table)
    typer.echo(found.summary[0].upper() + found.summary[1:] + ".")
    low, high = found.interval
    note(
        f"answers of both: {found.answers:,}; clients: {found.clients:,}; the share of decided answers "
        f"that falls to {found.plan.candidate} is between {low:.0%} and {high:.0%}"
    )
    if found.plan.state == "guarded":
        note(f"{found.plan.baseline} was surely better, so it answers alone")


def _cells(score: Score) -> tuple[str, str, str]:
    return f"{score.baseline:,}", f"{score.candidate:,}", f"{score.tied:,}"
