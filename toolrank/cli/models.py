"""`toolrank models`: what is shipped, where it comes from, and whether it still is what it was."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.table import Table

from toolrank.cli.console import OUT, print_json, print_table
from toolrank.cli.options import JsonOption
from toolrank.errors import ExitCode
from toolrank_models.locate import find_model, list_models
from toolrank_models.verify import Verification, verify

app = typer.Typer(help="Lists, verifies and describes the models.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Name of a model, or its folder.", metavar="NAME")]


@app.command("list")
def list_command(as_json: JsonOption = False) -> None:
    """Lists the models that can be used by name."""
    found = list_models()
    if as_json:
        print_json([{"folder": str(folder), "manifest": manifest} for folder, manifest in found])
        return
    table = Table("name", "kind", "version", "licence", "MB", "trained on")
    for folder, manifest in found:
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        data = ", ".join(item.name for item in manifest.training)
        table.add_row(manifest.name, manifest.kind, manifest.version, manifest.licence, f"{size:.1f}", data)
    print_table(table)


@app.command("verify")
def verify_command(
    names: Annotated[list[str] | None, typer.Argument(help="Default: every model.", metavar="NAME…")] = None,
    as_json: JsonOption = False,
) -> None:
    """Replays each model's reference scores, and checks its files and that batches change nothing."""
    folders = [find_model(name) for name in names] if names else [folder for folder, _ in list_models()]
    reports = [verify(folder) for folder in folders]
    print_json(reports) if as_json else _print(reports)
    if not all(report.sound for report in reports):
        raise typer.Exit(ExitCode.UNAVAILABLE)


@app.command("card")
def card(name: NameArgument) -> None:
    """Shows a model's card: data, licences, figures, limits."""
    text = (find_model(name) / "CARD.md").read_text("utf-8")
    if OUT.is_terminal:
        OUT.print(Markdown(text))
    else:
        typer.echo(text)


def _print(reports: list[Verification]) -> None:
    table = Table("model", "result", "agreement with the original", "faults")
    for report in reports:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in report.figures.items())
        result = "[green]sound" if report.sound else "[red]FAILED"
        table.add_row(report.identity, result, figures, "; ".join(report.faults))
    print_table(table)
