"""Assembles the commands, and turns failures into one line and an exit code."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from toolrank.cli import (
    compare,
    copying,
    doctor,
    evaluate,
    harvest,
    ingest,
    lint,
    mcp,
    models,
    plan,
    search,
    serve,
    setup,
    tune,
)
from toolrank.cli.console import complain
from toolrank.errors import KNOWN, exit_code

app = typer.Typer(
    name="toolrank",
    help="Finds the right set of tools and APIs for a request, in a catalog of thousands.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("eval")(evaluate.evaluate_command)
app.command("compare")(compare.compare)
app.command("tune")(tune.tune)
app.command("lint")(lint.lint)
app.command("harvest")(harvest.harvest)
app.add_typer(models.app, name="models")
app.command("copy")(copying.copy)
app.command("setup")(setup.setup)
app.command("plan")(plan.plan)
app.command("doctor")(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"toolrank {version('toolrank')}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Finds the right set of tools and APIs for a request, in a catalog of thousands."""


def main() -> None:
    """Entry point of the command `toolrank`."""
    try:
        app()
    except KNOWN as error:
        complain(error)
        sys.exit(exit_code(error))
    except BrokenPipeError:
        # The reader of a pipe left early, as `| head` does.
        sys.stderr.close()
        sys.exit(exit_code(BrokenPipeError()))
