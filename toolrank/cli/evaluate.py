"""`toolrank eval`: how good are the profiles on requests whose answers are known?"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import complain_gate, note, print_json, print_table
from toolrank.cli.options import CatalogOption, DataOption, JsonOption, PrincipalOption, TenantOption
from toolrank.cli.progress import progress
from toolrank.errors import ExitCode
from toolrank.evaluating import TIMED, Judged, Plan, judged_dataset, judged_queries, measure
from toolrank.failing import failure_collector
from toolrank.model_figures import record_report
from toolrank.settings import Settings
from toolrank_engines.contract import Filter
from toolrank_evaluation.datasets.opening import DATASETS
from toolrank_evaluation.evaluate import Sampling
from toolrank_evaluation.facets import FACETS
from toolrank_evaluation.failures import Failures
from toolrank_evaluation.gate import check_baseline, failures, parse_drop, parse_floor
from toolrank_evaluation.metrics import CUTOFFS
from toolrank_evaluation.report import Report, Row, read_report, write_report
from toolrank_ingest.prose import clip
from toolrank_rescorers.profiles import shipped_profiles

DatasetArgument = Annotated[
    str | None,
    typer.Argument(help=f"One of {', '.join(DATASETS)}, or a folder in BEIR layout.", metavar="DATASET"),
]
QueriesOption = Annotated[
    Path | None, typer.Option("--queries", help="Your own judged requests over --catalog (JSON lines).")
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most so many requests, spread evenly.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of everything that is drawn by chance.")]
METRICS = ["ndcg@5", "recall@5", "comp@5", "mrr"]


def evaluate_command(
    dataset: DatasetArgument = None,
    data: DataOption = Path("data"),
    queries: QueriesOption = None,
    catalog: CatalogOption = None,
    profile: Annotated[
        list[str] | None,
        typer.Option("--profile", "-p", help="Profile to try. Repeatable; default: all shipped."),
    ] = None,
    limit: LimitOption = None,
    k: Annotated[
        list[int] | None, typer.Option("-k", help="Cut-off of the measures. Repeatable; default: 3, 5, 10.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Column of the table. Repeatable.")
    ] = None,
    facet: Annotated[
        list[str] | None,
        typer.Option("--by", help=f"Subsets in the table: {', '.join(FACETS)}. Repeatable; default: subset."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the whole report to this file.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="An earlier report on the same requests.")
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option("--min", help='Least a figure may be: "recall@5>=0.80", or "SUBSET/recall@5>=0.80".'),
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option("--max-drop", help='Most a figure may lose against --baseline: "ndcg@5:0.01".'),
    ] = None,
    timed: Annotated[
        int, typer.Option("--timed", min=0, help="Of how many requests the time is taken; 0 for none.")
    ] = TIMED,
    seed: SeedOption = 0,
    show_failures: Annotated[
        bool, typer.Option("--failures", help="Group what was missed among the first 5 by its cause.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the figures into manifest and card of the models used.")
    ] = False,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ranks requests with known answers: quality per subset with intervals, abstention, tokens, time.

    A named dataset is taken into a catalog of its own first; --queries judges your own catalog. With --min or
    --max-drop the exit code is 7 when the figures are below what is asked for.
    """
    floors = [parse_floor(text) for text in minimum or ()]
    drops = [parse_drop(text) for text in max_drop or ()]
    before = read_report(baseline) if baseline else None
    sampling = Sampling(cutoffs=tuple(k or CUTOFFS), seed=seed)
    permitted = Filter(tenant=tenant, principals=frozenset(principal or ()))
    plan = Plan(
        profiles=tuple(profile or shipped_profiles()),
        limit=limit,
        sampling=sampling,
        timed=timed,
        permitted=permitted,
    )
    with opened(dataset, data, queries, catalog, plan) as judged:
        report = _measured(judged, plan, show_failures)
    if output:
        write_report(report, output)
    if record:
        _record(report, limit)
    print_json(report) if as_json else print_report(report, metric or METRICS, facet or ["subset"])
    if before is not None:
        check_baseline(report, before)
    unmet = failures(report, floors, drops, before)
    complain_gate(unmet)
    if unmet:
        raise typer.Exit(ExitCode.GATE)


def _record(report: Report, limit: int | None) -> None:
    asked = report.dataset if report.dataset in DATASETS else f"--queries {report.dataset}"
    command = f"toolrank eval {asked}" + (f" --limit {limit}" if limit else "")
    today = datetime.date.today().isoformat()
    for identity in record_report(report, (today, command), Settings()):
        note(f"recorded for {identity}")


def _measured(judged: Judged, plan: Plan, with_failures: bool) -> Report:
    if not with_failures:
        return measure(judged, plan, progress()).report
    collector = failure_collector(judged, plan)
    report = measure(judged, plan, progress(), collector).report
    return msgspec.structs.replace(report, failures=collector.failures())


@contextmanager
def opened(
    dataset: str | None, data: Path, queries: Path | None, catalog: str | None, plan: Plan
) -> Iterator[Judged]:
    """The judged requests that the arguments of a command name."""
    if (dataset is None) == (queries is None):
        raise typer.BadParameter("give either a DATASET or --queries FILE")
    if queries is not None:
        with Catalog.open(catalog) as own:
            yield judged_queries(own, queries, plan)
    else:
        with judged_dataset(str(dataset), data, plan, progress()) as judged:
            yield judged


def print_report(report: Report, metrics: list[str], facets: list[str]) -> None:
    """A table per facet, one row a subset and profile; then what the answers cost."""
    unknown = [name for name in metrics if name not in report.rows[0].figures]
    if unknown:
        known = ", ".join(report.rows[0].figures)
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; known are {known}", param_hint="--metric")
    if any(name not in FACETS for name in facets):
        raise typer.BadParameter(f"known are {', '.join(FACETS)}", param_hint="--by")
    if report.queries < report.provenance.requests:
        note(f"a sample: {report.queries} of {report.provenance.requests} requests were asked")
    for facet in facets:
        rows = [row for row in report.rows if row.facet == facet]
        print_table(_figures_table(f"{report.dataset} by {facet}, %, 95 % interval", rows, metrics))
    print_table(_cost_table(report))
    for missed in report.failures:
        print_table(_failures_table(missed))


def _figures_table(title: str, rows: list[Row], metrics: list[str]) -> Table:
    table = Table("subset", "profile", "requests", *metrics, title=title)
    subsets = list(dict.fromkeys(row.subset for row in rows))
    for subset in subsets:
        for row in rows:
            if row.subset == subset:
                figures = [_with_interval(row, name) for name in metrics]
                table.add_row(subset, row.profile, str(row.queries), *figures)
        table.add_section()
    return table


def _failures_table(missed: Failures) -> Table:
    counts = f"{missed.misses} of {missed.relevant} relevant APIs"
    title = f"{missed.profile}: {counts} are not among the first {missed.k}"
    table = Table("cause", "misses", "share", "requests", "for example", title=title)
    for group in missed.groups:
        example = group.examples[0]
        request = f"{clip(example.text, 60)}: {example.api} ({example.detail})"
        table.add_row(
            group.cause.value, str(group.misses), f"{group.share:.0%}", str(group.requests), request
        )
    return table


def _with_interval(row: Row, name: str) -> str:
    low, high = row.intervals[name]
    return f"{100 * row.figures[name]:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def _cost_table(report: Report) -> Table:
    timing = {item.profile: item for item in report.timings}
    sureness = {item.profile: item for item in report.abstention}
    table = Table("profile", "tokens", "median ms", "p95 ms", "abstained: wrongly", "rightly", "AUC")
    for cost in report.costs:
        time, sure = timing.get(cost.profile), sureness.get(cost.profile)
        table.add_row(
            cost.profile,
            f"{cost.tokens:.0f}",
            *((f"{time.median:.0f}", f"{time.p95:.0f}") if time else ("", "")),
            *((f"{sure.false_alarms:.0%}", f"{sure.caught:.0%}", f"{sure.auc:.2f}") if sure else ("",) * 3),
        )
    return table
