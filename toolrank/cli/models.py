"""`toolrank models`: what is shipped, where it comes from, and whether it still is what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markdown import Markdown
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import OUT, note, print_json, print_table
from toolrank.cli.evaluate import opened
from toolrank.cli.options import CatalogOption, JsonOption
from toolrank.cli.progress import progress
from toolrank.errors import ExitCode
from toolrank.evaluating import Plan
from toolrank.model_export import Export, export_model
from toolrank.model_training import PROFILE, OwnReport, OwnTraining, train_on_own_requests
from toolrank_models.locate import find_model, list_models
from toolrank_models.train.recipe import recipe_path
from toolrank_models.verify import Verification, verify
from toolrank_rescorers.profiles import DEFAULT_PROFILE

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


@app.command("export")
def export_command(
    source: Annotated[Path, typer.Argument(help="A transformers folder: a BERT.", metavar="FOLDER")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the model that is written.")],
    kind: Annotated[Literal["encoder", "cross_encoder"], typer.Option("--kind", help="What it is.")],
    licence: Annotated[str, typer.Option("--licence", help="Licence of the weights, for the manifest.")],
    catalog: CatalogOption = None,
    storage: Annotated[
        Literal["fp32", "weight_int8", "static_int8"], typer.Option("--storage", help="How weights are kept.")
    ] = "static_int8",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=16, max=512, help="Longer texts are cut.")
    ] = 256,
    as_json: JsonOption = False,
) -> None:
    """Exports a model of your own to run without torch, calibrated on the texts of your catalog.

    Needs the extra `train`.
    """
    export = Export(
        source=source, out=out, kind=kind, storage=storage, licence=licence, max_tokens=max_tokens
    )
    with Catalog.open(catalog) as opened_catalog:
        report = export_model(opened_catalog, export)
    print_json([report]) if as_json else _print([report])
    if not report.sound:
        raise typer.Exit(ExitCode.UNAVAILABLE)


@app.command("train")
def train(
    queries: Annotated[
        Path, typer.Option("--queries", help="JSON lines of requests with the ids that answer them.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the model that is written.")],
    catalog: CatalogOption = None,
    recipe: Annotated[
        str, typer.Option("--recipe", help="Name of a shipped recipe of a cross-encoder, or a .toml file.")
    ] = "own-reranker",
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of checkpoints. Default: OUT.run, beside the model.")
    ] = None,
    holdout: Annotated[
        float, typer.Option("--holdout", min=0.05, max=0.5, help="Share of the requests that only validate.")
    ] = 0.2,
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="The profile to tune for the new model.")
    ] = DEFAULT_PROFILE,
    trials: Annotated[
        int, typer.Option("--trials", min=0, help="How many settings of the profile to try; 0: none.")
    ] = 60,
    as_json: JsonOption = False,
) -> None:
    """Trains the cross-encoder in use on your own requests, and keeps the result only if it is better.

    Runs again where it was stopped. Needs the extra `train`.
    """
    training = OwnTraining(
        recipe=recipe_path(recipe),
        out=out,
        run=run or out.with_name(f"{out.name}.run"),
        holdout=holdout,
        profile=profile,
        trials=trials,
    )
    with opened(None, Path("data"), queries, catalog, Plan(profiles=(profile,))) as judged:
        report = train_on_own_requests(judged, training, progress())
    print_json(report) if as_json else _told(report, out)


def _told(report: OwnReport, out: Path) -> None:
    table = Table("on requests held out", "NDCG@5", "recall@5", "comp@5")
    for name, found in ((report.started_from, report.before), (report.model, report.after)):
        table.add_row(name, *(f"{100 * value:.1f}" for value in (found.ndcg, found.recall, found.complete)))
    print_table(table)
    note(f"{report.trained_on} requests to learn from, {report.held_out} held out; use it with")
    note(f"TOOLRANK_CROSS_ENCODER={out}")
    if (out / PROFILE).is_file():
        note(f"TOOLRANK_PROFILE={out / PROFILE}")


def _print(reports: list[Verification]) -> None:
    table = Table("model", "result", "agreement with the original", "faults")
    for report in reports:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in report.figures.items())
        result = "[green]sound" if report.sound else "[red]FAILED"
        table.add_row(report.identity, result, figures, "; ".join(report.faults))
    print_table(table)
