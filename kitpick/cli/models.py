"""`kitpick models`: lists, verifies, exports and trains models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import OUT, note, print_json, print_table
from kitpick.cli.evaluate import open_judged
from kitpick.cli.options import (
    CatalogOption,
    HoursOption,
    JsonOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    RetriesOption,
)
from kitpick.cli.progress import progress
from kitpick.errors import ExitCode
from kitpick.evaluation.measuring import Plan
from kitpick_models.locate import find_model, find_set, list_models, list_sets
from kitpick_models.manifest import card, read_manifest
from kitpick_models.verify import Verification, verify, verify_set
from kitpick_rescorers import DEFAULT_PROFILE

if TYPE_CHECKING:  # the commands that train import the training package themselves
    from kitpick_models.importing import Imported
    from kitpick_training.own.distillation import TeacherReport
    from kitpick_training.own.requests import OwnReport

models = typer.Typer(
    help="Lists, verifies, exports and trains models.", no_args_is_help=True, add_completion=False
)

RunOption = Annotated[
    Path | None, typer.Option("--run", help="Folder for checkpoints. Default: OUT.run, beside the model.")
]
HoldoutOption = Annotated[
    float, typer.Option("--holdout", min=0.05, max=0.5, help="Share of the requests kept aside to validate.")
]


def run_beside(out: Path) -> Path:
    """The default folder for checkpoints."""
    return out.with_name(f"{out.name}.run")


@models.command("list")
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


@models.command("verify")
def verify_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names or folders of models. Default: all.", metavar="NAME…")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Checks each model: its files, its reference scores, and that batching does not change them.

    Without a name it also checks that the models of each set belong together.
    """
    folders = [find_model(name) for name in names] if names else [folder for folder, _ in list_models()]
    reports = [verify(folder) for folder in folders]
    if not names:
        sets = {each.name: each for each in (*list_sets(), find_set()[0])}
        reports += map(verify_set, sets.values())
    print_json(reports) if as_json else _print(reports)
    if not all(report.sound for report in reports):
        raise typer.Exit(ExitCode.UNAVAILABLE)


@models.command("card")
def card_command(
    name: Annotated[str, typer.Argument(help="Name or folder of a model.", metavar="NAME")],
) -> None:
    """Shows the card of a model: data, licences, results, limits."""
    text = card(read_manifest(find_model(name)))
    if OUT.is_terminal:
        OUT.print(Markdown(text))
    else:
        typer.echo(text)


@models.command("export")
def export_command(
    source: Annotated[
        Path, typer.Argument(help="Folder of a BERT model in transformers format.", metavar="FOLDER")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the new model.")],
    kind: Annotated[Literal["encoder", "cross_encoder"], typer.Option("--kind", help="Kind of model.")],
    licence: Annotated[str, typer.Option("--licence", help="Licence of the weights, for the manifest.")],
    catalog: CatalogOption = None,
    storage: Annotated[
        Literal["fp32", "fp16", "weight_int8", "static_int8"],
        typer.Option("--storage", help="How to store the weights."),
    ] = "static_int8",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=16, max=512, help="Texts are cut after this many tokens.")
    ] = 256,
    as_json: JsonOption = False,
) -> None:
    """Exports your own model so that it runs without torch, calibrated on the texts of your catalog.

    Needs the extra `train`.
    """
    from kitpick_training.errors import require_torch
    from kitpick_training.own.export import Export, export_model

    require_torch()
    export = Export(
        source=source, out=out, kind=kind, storage=storage, licence=licence, max_tokens=max_tokens
    )
    with existing_catalog(catalog) as opened_catalog:
        report = export_model(opened_catalog, export)
    print_json([report]) if as_json else _print([report])
    if not report.sound:
        raise typer.Exit(ExitCode.UNAVAILABLE)


@models.command("import")
def import_command(
    source: Annotated[
        Path,
        typer.Argument(
            help="Folder of sentence-transformers, or of an exported ONNX encoder with its tokenizer.json.",
            metavar="FOLDER",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the new model set.")],
    name: Annotated[str, typer.Option("--name", help="Name of the model. Default: that of FOLDER.")] = "",
    file: Annotated[
        str, typer.Option("--file", help="Which ONNX file, within FOLDER, where there are several.")
    ] = "",
    pooling: Annotated[
        Literal["none", "cls", "mean", "max", "last"] | None,
        typer.Option("--pooling", help="How the vectors of tokens become one, if no file says it."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            min=16,
            max=8192,
            help="Texts are cut after this many tokens. Default: as the files say, 512 at most.",
        ),
    ] = None,
    request_prefix: Annotated[
        str | None, typer.Option(help="What is put before requests, if no file says it, as 'query: '.")
    ] = None,
    document_prefix: Annotated[
        str | None, typer.Option(help="What is put before descriptions, likewise, as 'passage: '.")
    ] = None,
    languages: Annotated[
        str,
        typer.Option(
            "--languages",
            help="Languages that it reads, `de,el,cs`, or `multilingual`. Default: as its README.md says.",
        ),
    ] = "",
    licence: Annotated[
        str, typer.Option("--licence", help="Licence of the weights. Default: as its README.md says.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Makes a model set of an encoder of yours, such as a multilingual one. Nothing is downloaded.

    Pooling, prefixes and length are read from its files. It is run before it takes its place.
    """
    from kitpick_models.importing import Import, import_encoder

    wanted = Import(
        source=source,
        out=out,
        name=name,
        file=file,
        pooling=pooling,
        max_tokens=max_tokens,
        request_prefix=request_prefix,
        document_prefix=document_prefix,
        licence=licence,
        languages=tuple(filter(None, (each.strip().lower() for each in languages.split(",")))),
    )
    report = import_encoder(wanted)
    print_json(report) if as_json else _print_imported(report, out)


@models.command("train")
def train(
    queries: Annotated[
        Path, typer.Option("--queries", help="Your own judged requests: a file of JSON lines.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the new model.")],
    catalog: CatalogOption = None,
    kind: Annotated[
        Literal["encoder", "cross_encoder"],
        typer.Option("--kind", help="Which of the models in use to train."),
    ] = "cross_encoder",
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="Name of a shipped recipe, or a .toml file. Default: own-reranker or own-encoder.",
        ),
    ] = None,
    run: RunOption = None,
    holdout: HoldoutOption = 0.2,
    as_json: JsonOption = False,
) -> None:
    """Trains one of the models in use on your own requests, and keeps the result only if it is better.

    A run that was stopped continues where it was. Needs the extras `train` and `eval`.
    """
    from kitpick_training.errors import require_torch
    from kitpick_training.own.requests import (
        OwnTraining,
        train_encoder_on_own_requests,
        train_on_own_requests,
    )
    from kitpick_training.recipe import recipe_path

    require_torch()
    learn, usual = {
        "encoder": (train_encoder_on_own_requests, "own-encoder"),
        "cross_encoder": (train_on_own_requests, "own-reranker"),
    }[kind]
    training = OwnTraining(
        recipe=recipe_path(recipe or usual),
        out=out,
        run=run or run_beside(out),
        holdout=holdout,
    )
    with open_judged(None, Path("data"), queries, catalog, Plan(profiles=(DEFAULT_PROFILE,))) as judged:
        report = learn(judged, training, progress())
    print_json(report) if as_json else _print_training(report, out, kind)


@models.command("distill")
def distill(
    requests: Annotated[
        Path,
        typer.Option(
            "--requests", help='File of JSON lines: {"query": …}, with "relevant" ids where they are known.'
        ),
    ],
    teacher: Annotated[
        str,
        typer.Option("--teacher", help="llm:MODEL at KITPICK_LLM_URL, or llm: for KITPICK_LLM_MODEL."),
    ],
    answers: Annotated[
        Path,
        typer.Option(
            "--answers", help="File for the answers of the teacher; what is in it is not asked again."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the new model.")],
    catalog: CatalogOption = None,
    recipe: Annotated[
        str, typer.Option("--recipe", help="Name of a shipped cross-encoder recipe, or a .toml file.")
    ] = "own-reranker",
    run: RunOption = None,
    holdout: HoldoutOption = 0.2,
    candidates: Annotated[
        int,
        typer.Option("--candidates", min=2, max=100, help="Number of candidates to order for each request."),
    ] = 20,
    max_calls: MaxCallsOption = 10_000,
    max_tokens: MaxTokensOption = 20_000_000,
    max_cost: MaxCostOption = 10.0,
    hours: HoursOption = 8.0,
    retries: RetriesOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Trains the cross-encoder in use to order candidates as a language model orders them.

    Answers are stored as they arrive: a run that was stopped continues where it was. The result is kept only
    if it is better on requests that were kept aside. Needs the extras `train` and `llm`.
    """
    from kitpick_rescorers.llm.meter import Caps
    from kitpick_training.errors import require_torch
    from kitpick_training.own.distillation import TeacherPlan, distil, teacher_of
    from kitpick_training.own.requests import OwnTraining
    from kitpick_training.recipe import recipe_path

    require_torch()
    caps = Caps(hours * 3600, max_calls, max_tokens, max_cost, retries)
    teaching = TeacherPlan(requests=requests, answers=answers, candidates=candidates, caps=caps)
    training = OwnTraining(recipe=recipe_path(recipe), out=out, run=run or run_beside(out), holdout=holdout)
    with existing_catalog(catalog) as opened_catalog:
        model = teacher_of(teacher, opened_catalog.settings)
        report = distil(opened_catalog, model, teaching, training, progress())
    if as_json:
        print_json(report)
        return
    _print_asking(report.asking)
    _print_training(report.training, out, "cross_encoder")


def _print_asking(asking: TeacherReport) -> None:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(asking.outcomes.items()))
    note(f"{asking.teacher}: {asking.known} of {asking.requests} requests known, {outcomes or 'none asked'}")
    note(f"{asking.calls} calls, {asking.tokens:,} tokens, cost {asking.cost:.4g}")


def _print_training(report: OwnReport, out: Path, kind: Literal["encoder", "cross_encoder"]) -> None:
    table = Table("on requests held out", "NDCG@5", "recall@5", "comp@5")
    for name, found in ((report.started_from, report.before), (report.model, report.after)):
        table.add_row(name, *(f"{100 * value:.1f}" for value in (found.ndcg, found.recall, found.complete)))
    print_table(table)
    note(f"{report.trained_on} requests to learn from, {report.held_out} held out; use it with")
    note(f"KITPICK_{kind.upper()}={out}")
    if kind == "encoder":
        note("and ingest again: an index has the vectors of one encoder")


def _print_imported(report: Imported, out: Path) -> None:
    table = Table("model", "dimensions", "tokens", "pooling", "before requests", "before descriptions")
    read = report.reading
    numbers = (str(report.dimensions), str(report.max_tokens))
    table.add_row(report.identity, *numbers, read.pooling, read.request_prefix, read.document_prefix)
    print_table(table)
    for text in report.notes:
        note(text)
    note(f"use it with KITPICK_MODELS={out}, and ingest again: an index has the vectors of one encoder")


def _print(reports: list[Verification]) -> None:
    table = Table("model", "result", "agreement with the original", "faults")
    for report in reports:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in report.figures.items())
        result = Text("sound", "green") if report.sound else Text("FAILED", "red")
        table.add_row(report.identity, result, figures, "; ".join(report.faults))
    print_table(table)
