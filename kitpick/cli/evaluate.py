"""`kitpick eval`: how good are the profiles on requests whose answers are known?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from kitpick.adaptation.fitted_requests import overlap_warnings
from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import complain_gate, note, print_json, print_table
from kitpick.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    PrincipalOption,
    TenantOption,
    filter_of,
)
from kitpick.cli.progress import progress
from kitpick.errors import ExitCode
from kitpick.evaluation.measuring import (
    TIMED,
    Judged,
    Plan,
    judged_dataset,
    judged_queries,
    measure,
)
from kitpick.settings import Settings
from kitpick_evaluation.comparison import ALPHA, PairTest
from kitpick_evaluation.datasets.published import DATASETS
from kitpick_evaluation.datasets.queries_file import unused_fields
from kitpick_evaluation.evaluate import Sampling
from kitpick_evaluation.facets import FACETS
from kitpick_evaluation.gate import (
    Drop,
    Floor,
    check_baseline,
    check_conditions,
    failures,
    parse_drop,
    parse_floor,
)
from kitpick_evaluation.metrics import CUTOFFS, check_cutoffs, figure_names
from kitpick_evaluation.report import MEAN, Report, ReportRow, check_writable, read_report, write_report
from kitpick_foundation.errors import suggestion
from kitpick_rescorers.profiles import load_profile, shipped_profiles
from kitpick_rescorers.stages.language import LanguageStage

DatasetArgument = Annotated[
    str | None,
    typer.Argument(help=f"One of {', '.join(DATASETS)}, or a folder in BEIR layout.", metavar="DATASET"),
]
QueriesOption = Annotated[
    Path | None,
    typer.Option("--queries", help="Your own judged requests, over --catalog: a file of JSON lines."),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="Ask at most this many of the requests, spread evenly.")
]
_SHOWN = 5
"""The cut-off of the metrics that are shown when nobody says which."""


def evaluate(
    dataset: DatasetArgument = None,
    data: DataOption = Path("data"),
    queries: QueriesOption = None,
    catalog: CatalogOption = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            "--profile", "-p", help="Profile to measure. Repeatable. Default: all shipped ones that can run."
        ),
    ] = None,
    limit: LimitOption = None,
    k: Annotated[
        list[int] | None, typer.Option("-k", help="Count the first K hits. Repeatable. Default: 3, 5, 10.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Metric to show, such as recall@5. Repeatable.")
    ] = None,
    facet: Annotated[
        list[str] | None,
        typer.Option("--by", help=f"Group the table by {', '.join(FACETS)}. Repeatable. Default: subset."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the whole report to this file.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="Report of an earlier run on the same requests, to compare with."),
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min", help='Required minimum: "recall@5>=0.80", or "SUBSET/recall@5>=0.80". Repeatable.'
        ),
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            "--max-drop", help='Largest loss allowed against --baseline: "ndcg@5:0.01". Repeatable.'
        ),
    ] = None,
    timed: Annotated[
        int, typer.Option("--timed", min=0, help="Number of requests to time; 0 for none.")
    ] = TIMED,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")] = 0,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measures how well profiles answer requests whose right answers are known.

    Reports quality with 95 % intervals, abstention, tokens and time. Of several profiles that are named, the
    first is tested against each other one. --queries asks your own catalog; a named dataset is first taken
    into a catalog of its own. The exit code is 7 when --min or --max-drop is not met.
    """
    cutoffs = check_cutoffs(k or CUTOFFS)
    metrics, facets = metric or _default_metrics(cutoffs), facet or ["subset"]
    check_known(metrics, figure_names(cutoffs), "--metric")
    check_known(facets, FACETS, "--by")
    gate = _gate(minimum or (), max_drop or (), baseline, figure_names(cutoffs))
    plan = Plan(
        profiles=tuple(profile or _shipped()),
        limit=limit,
        sampling=Sampling(cutoffs=cutoffs, seed=seed),
        timed=timed,
        permitted=filter_of(tenant, principal),
    )
    if output:
        check_writable(output)
    with open_judged(dataset, data, queries, catalog, plan) as judged:
        if not (k or metric or gate.floors or gate.drops):
            plan = _fitting(plan, judged)
            metrics = _default_metrics(plan.sampling.cutoffs)
        if profile:
            plan = msgspec.structs.replace(plan, tested=tuple(metrics))
        for warning in overlap_warnings(plan.profiles, judged.queries):
            note(warning)
        report = measure(judged, plan, progress())
    if output:
        write_report(report, output)
    print_json(report) if as_json else print_report(report, metrics, facets)
    _pass(report, gate)


class _Gate(msgspec.Struct, frozen=True):
    """What a report has to fulfil."""

    floors: Sequence[Floor]
    drops: Sequence[Drop]
    before: Report | None
    """The earlier report that the losses are measured against."""


def _gate(
    minimum: Sequence[str], max_drop: Sequence[str], baseline: Path | None, figures: Sequence[str]
) -> _Gate:
    """Reads the conditions, so that a mistake in them shows before the work begins."""
    floors, drops = [parse_floor(text) for text in minimum], [parse_drop(text) for text in max_drop]
    check_conditions(floors, drops, figures)
    if drops and baseline is None:
        raise typer.BadParameter(
            "needs a report to compare with: --baseline report.json", param_hint="--max-drop"
        )
    return _Gate(floors, drops, read_report(baseline) if baseline else None)


def _pass(report: Report, gate: _Gate) -> None:
    """Lets a report through the gate, or ends the command with what is unmet."""
    if gate.before is not None:
        check_baseline(report, gate.before)
    unmet = failures(report, gate.floors, gate.drops, gate.before)
    complain_gate(unmet)
    if unmet:
        raise typer.Exit(ExitCode.GATE)


def _fitting(plan: Plan, judged: Judged) -> Plan:
    """The plan without default cut-offs that exceed the number of APIs."""
    stats = judged.catalog.stats()
    size = 0 if stats is None else stats.documents
    cutoffs = tuple(k for k in plan.sampling.cutoffs if k <= size) or (max(size, 1),)
    if cutoffs == plan.sampling.cutoffs:
        return plan
    note(f"the catalog holds {size} APIs: figures for k = {', '.join(map(str, cutoffs))}")
    sampling = msgspec.structs.replace(plan.sampling, cutoffs=cutoffs)
    return msgspec.structs.replace(plan, sampling=sampling)


@contextmanager
def open_judged(
    dataset: str | None, data: Path, queries: Path | None, catalog: str | None, plan: Plan
) -> Iterator[Judged]:
    """The judged requests that the arguments of a command name."""
    if (dataset is None) == (queries is None):
        raise typer.BadParameter("give either a DATASET or --queries FILE")
    if queries is not None:
        with existing_catalog(catalog) as own:
            judged = judged_queries(own, queries, plan)
            if unused := unused_fields(queries):
                note(f"{queries}: fields that are not used: {', '.join(unused)}")
            yield judged
    else:
        with judged_dataset(str(dataset), data, plan, progress()) as judged:
            yield judged


def check_profile_file(output: Path) -> None:
    """Finds out before minutes of work whether a profile can be written to this file, and read again.

    Raises:
        BadParameter: it does not end in `.toml`.
        InvalidReport: it cannot be written.
    """
    if output.suffix != ".toml":
        raise typer.BadParameter(f"{output}: a profile's file ends in .toml", param_hint="--output")
    check_writable(output)


def check_known(names: Sequence[str], known: Sequence[str], option: str) -> None:
    """Refuses misspelt names before the work begins.

    Raises:
        BadParameter: the first unknown name, with the nearest ones.
    """
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no {name!r}: {suggestion(name, known)}", param_hint=option)


def _shipped() -> tuple[str, ...]:
    """The shipped profiles; those that ask a language model only where one is configured."""
    return tuple(name for name in shipped_profiles() if Settings().llm_url or not _asks_model(name))


def _asks_model(profile: str) -> bool:
    return any(isinstance(stage, LanguageStage) for stage in load_profile(profile).stages)


def _default_metrics(cutoffs: Sequence[int]) -> list[str]:
    k = _SHOWN if _SHOWN in cutoffs else max(cutoffs)
    return [f"ndcg@{k}", f"recall@{k}", f"comp@{k}", "mrr"]


def print_report(report: Report, metrics: list[str], facets: list[str]) -> None:
    """A table per facet, one row a subset and profile; then what the answers cost."""
    if report.queries < report.provenance.requests:
        note(f"a sample: {report.queries} of {report.provenance.requests} requests were asked")
    for facet in facets:
        rows = [row for row in report.rows if row.facet == facet]
        print_table(_figures_table(f"{report.dataset} by {facet}, %, 95 % interval", rows, metrics))
    print_table(_cost_table(report))
    if report.differences:
        print_table(_differences_table(report.differences))


def _figures_table(title: str, rows: list[ReportRow], metrics: list[str]) -> Table:
    table = Table("subset", "profile", "requests", *metrics, title=title)
    subsets = list(dict.fromkeys(row.subset for row in rows))
    for subset in subsets:
        for row in rows:
            if row.subset == subset:
                figures = [_with_interval(row, name) for name in metrics]
                is_mean = (row.facet, subset) == ("subset", MEAN)
                label = f"mean of the {len(subsets) - 1} subsets" if is_mean else subset
                table.add_row(label, row.profile, str(row.queries), *figures)
        table.add_section()
    return table


def _differences_table(tests: Sequence[PairTest]) -> Table:
    table = Table("figure", "pair", "difference, 95 %", "wins/losses", "p", "corrected", "")
    for test in tests:
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
    return table


def _with_interval(row: ReportRow, name: str) -> str:
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
