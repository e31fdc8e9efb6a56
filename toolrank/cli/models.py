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
from toolrank.demonstrating import DemoReport, DemoTraining, pool_of_requests, train_demonstrations
from toolrank.distilling import Asking, Teaching, distil, teacher_of
from toolrank.encoder_training import train_encoder_on_own_requests
from toolrank.errors import ExitCode
from toolrank.evaluating import Plan, judged_queries
from toolrank.model_export import Export, export_model
from toolrank.model_training import FIRST_STAGE, PROFILE, OwnReport, OwnTraining, train_on_own_requests
from toolrank_models.locate import find_model, list_models
from toolrank_models.train.recipe import recipe_path
from toolrank_models.verify import Verification, verify
from toolrank_rescorers.demorank.pool import Demonstration, read_pool
from toolrank_rescorers.llm.meter import Caps
from toolrank_rescorers.profiles import DEFAULT_PROFILE

app = typer.Typer(help="Lists, verifies and describes the models.", no_args_is_help=True)

RecipeOption = Annotated[
    str, typer.Option("--recipe", help="Name of a shipped recipe of a cross-encoder, or a .toml file.")
]
RunOption = Annotated[
    Path | None, typer.Option("--run", help="Folder of checkpoints. Default: OUT.run, beside the model.")
]
HoldoutOption = Annotated[
    float, typer.Option("--holdout", min=0.05, max=0.5, help="Share of the requests that only validate.")
]
MaxCallsOption = Annotated[int, typer.Option("--max-calls", min=1, help="Cap on calls, of this run.")]
MaxTokensOption = Annotated[int, typer.Option("--max-tokens", min=1, help="Cap on tokens, of this run.")]
MaxCostOption = Annotated[
    float, typer.Option("--max-cost", min=0, help="Cap on costs of this run, by the prices in the settings.")
]
HoursOption = Annotated[float, typer.Option("--hours", min=0.001, help="Cap on the time of asking.")]
RetriesOption = Annotated[
    int, typer.Option("--retries", min=0, help="Further attempts, of all calls together.")
]
OWN_TRAININGS = {
    "encoder": (train_encoder_on_own_requests, "own-encoder"),
    "cross_encoder": (train_on_own_requests, "own-reranker"),
}
"""What learns from own requests, and its usual recipe."""
NameArgument = Annotated[str, typer.Argument(help="Name of a model, or its folder.", metavar="NAME")]


def run_beside(out: Path) -> Path:
    """Where checkpoints go unless somebody says."""
    return out.with_name(f"{out.name}.run")


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
        Literal["fp32", "fp16", "weight_int8", "static_int8"],
        typer.Option("--storage", help="How weights are kept."),
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
    kind: Annotated[
        Literal["encoder", "cross_encoder"], typer.Option("--kind", help="Which model in use learns.")
    ] = "cross_encoder",
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe", help="Name of a shipped recipe, or a .toml file. Default: own-reranker, own-encoder."
        ),
    ] = None,
    run: RunOption = None,
    holdout: HoldoutOption = 0.2,
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="The profile to tune for the new cross-encoder.")
    ] = DEFAULT_PROFILE,
    trials: Annotated[
        int, typer.Option("--trials", min=0, help="How many settings of the profile to try; 0: none.")
    ] = 60,
    as_json: JsonOption = False,
) -> None:
    """Trains a model in use on your own requests, and keeps the result only if it is better.

    Runs again where it was stopped. Needs the extra `train`.
    """
    learn, usual = OWN_TRAININGS[kind]
    training = OwnTraining(
        recipe=recipe_path(recipe or usual),
        out=out,
        run=run or run_beside(out),
        holdout=holdout,
        profile=profile,
        trials=trials,
    )
    with opened(None, Path("data"), queries, catalog, Plan(profiles=(profile,))) as judged:
        report = learn(judged, training, progress())
    print_json(report) if as_json else _told(report, out, kind)


@app.command("distill")
def distill(
    requests: Annotated[
        Path, typer.Option("--requests", help='JSON lines of {"query": …}, some perhaps with "relevant" ids.')
    ],
    teacher: Annotated[
        str,
        typer.Option(
            "--teacher", help="llm:MODEL at TOOLRANK_LLM_URL, llm: for the set model, or hf:FOLDER."
        ),
    ],
    answers: Annotated[
        Path, typer.Option("--answers", help="The permutation set: what is in it is not asked again.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the model that is written.")],
    catalog: CatalogOption = None,
    recipe: RecipeOption = "own-reranker",
    run: RunOption = None,
    holdout: HoldoutOption = 0.2,
    candidates: Annotated[
        int, typer.Option("--candidates", min=2, max=100, help="How many are ordered for each request.")
    ] = 20,
    max_calls: MaxCallsOption = 10_000,
    max_tokens: MaxTokensOption = 20_000_000,
    max_cost: MaxCostOption = 10.0,
    hours: HoursOption = 8.0,
    retries: RetriesOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Lets a language model order candidates, and trains the cross-encoder in use on its orders.

    Answers are stored as they come: a run that was stopped, by a cap or a signal, goes on where it was. The
    result is kept only if it orders the requests held out better. Needs the extras `train` and `llm`.
    """
    caps = Caps(hours * 3600, max_calls, max_tokens, max_cost, retries)
    teaching = Teaching(requests=requests, answers=answers, candidates=candidates, caps=caps)
    training = OwnTraining(recipe=recipe_path(recipe), out=out, run=run or run_beside(out), holdout=holdout)
    with Catalog.open(catalog) as opened_catalog:
        model = teacher_of(teacher, opened_catalog.settings)
        report = distil(opened_catalog, model, teaching, training, progress())
    if as_json:
        print_json(report)
        return
    _asked(report.asking)
    _told(report.training, out, "cross_encoder")


@app.command("demorank")
def demorank(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of demonstrations that is written.")],
    pool: Annotated[
        Path | None, typer.Option("--pool", help='JSON lines of {"query": …, "api": id, "useful": true}.')
    ] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="Judged requests to make the pool of, instead.")
    ] = None,
    catalog: CatalogOption = None,
    retriever: Annotated[
        str, typer.Option("--retriever-recipe", help="Name of a shipped recipe, or a .toml file.")
    ] = "demo-retriever",
    reranker: Annotated[
        str, typer.Option("--reranker-recipe", help="Name of a shipped recipe, or a .toml file.")
    ] = "demo-reranker",
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of answers and checkpoints. Default: OUT.run.")
    ] = None,
    questions: Annotated[
        int, typer.Option("--questions", min=10, help="How many of the pool are asked about, at most.")
    ] = 200,
    shots: Annotated[int, typer.Option("--shots", min=1, max=8, help="Length of a sequence.")] = 3,
    holdout: HoldoutOption = 0.2,
    max_calls: MaxCallsOption = 20_000,
    max_tokens: MaxTokensOption = 50_000_000,
    max_cost: MaxCostOption = 10.0,
    hours: HoursOption = 8.0,
    retries: RetriesOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Trains what chooses demonstrations for the profile demorank, by what helps the language model in use.

    Answers are stored as they come: a run that was stopped, by a cap or a signal, goes on where it was.
    Needs the extras `train` and `llm`.
    """
    caps = Caps(hours * 3600, max_calls, max_tokens, max_cost, retries)
    recipes = recipe_path(retriever), recipe_path(reranker)
    training = DemoTraining(
        out=out,
        run=run or run_beside(out),
        retriever=recipes[0],
        reranker=recipes[1],
        caps=caps,
        questions=questions,
        shots=shots,
        holdout=holdout,
    )
    if (pool is None) == (queries is None):
        raise typer.BadParameter("give one of --pool and --queries")
    with Catalog.open(catalog) as opened_catalog:
        teacher = teacher_of("llm:", opened_catalog.settings)
        written = read_pool(pool) if pool else _pool_of(opened_catalog, queries)
        report = train_demonstrations(opened_catalog, teacher, written, training, progress())
    print_json(report) if as_json else _told_demonstrations(report, out)


def _pool_of(catalog: Catalog, queries: Path | None) -> list[Demonstration]:
    assert queries is not None
    plan = Plan(profiles=(FIRST_STAGE,))
    return pool_of_requests(judged_queries(catalog, queries, plan), progress())


def _told_demonstrations(report: DemoReport, out: Path) -> None:
    table = Table("demonstrations shown", "probability of the right answer")
    names = ("none", "the nearest by DRetriever", "those chosen by DReranker")
    for name, value in zip(names, (report.zero_shot, report.retrieved, report.chosen), strict=True):
        table.add_row(name, f"{value:.3f}")
    print_table(table)
    note(f"{report.held_out} questions held out, {report.trained_on} to learn from")
    note(f"{report.teacher}: {report.calls} calls, {report.tokens:,} tokens, cost {report.cost:.4g}")
    note(f"TOOLRANK_DEMONSTRATIONS={out}")


def _asked(asking: Asking) -> None:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(asking.outcomes.items()))
    note(f"{asking.teacher}: {asking.known} of {asking.requests} requests known, {outcomes or 'none asked'}")
    note(f"{asking.calls} calls, {asking.tokens:,} tokens, cost {asking.cost:.4g}")


def _told(report: OwnReport, out: Path, kind: Literal["encoder", "cross_encoder"]) -> None:
    table = Table("on requests held out", "NDCG@5", "recall@5", "comp@5")
    for name, found in ((report.started_from, report.before), (report.model, report.after)):
        table.add_row(name, *(f"{100 * value:.1f}" for value in (found.ndcg, found.recall, found.complete)))
    print_table(table)
    note(f"{report.trained_on} requests to learn from, {report.held_out} held out; use it with")
    note(f"TOOLRANK_{kind.upper()}={out}")
    if kind == "encoder":
        note("and ingest again: an index has the vectors of one encoder")
    if (out / PROFILE).is_file():
        note(f"TOOLRANK_PROFILE={out / PROFILE}")


def _print(reports: list[Verification]) -> None:
    table = Table("model", "result", "agreement with the original", "faults")
    for report in reports:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in report.figures.items())
        result = "[green]sound" if report.sound else "[red]FAILED"
        table.add_row(report.identity, result, figures, "; ".join(report.faults))
    print_table(table)
