"""`kitpick adapt`: fits a profile to a catalog: the vectors of requests, and when nothing fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace
from rich.table import Table

from kitpick.adaptation.adapting import (
    Adapted,
    AdaptReport,
    Aim,
    adapt_to_descriptions,
    adapt_to_held_out,
    adapt_to_requests,
)
from kitpick.adaptation.fitted_requests import fitted_comment
from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import OUT, note, print_json, print_table
from kitpick.cli.evaluate import (
    DatasetArgument,
    LimitOption,
    QueriesOption,
    check_profile_file,
    open_judged,
)
from kitpick.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    PrincipalOption,
    TenantOption,
    filter_of,
)
from kitpick.cli.progress import progress
from kitpick.evaluation.measuring import Plan
from kitpick_engines.text import storable
from kitpick_evaluation.abstention import ALARMS
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.report import write_whole
from kitpick_rescorers import DEFAULT_PROFILE
from kitpick_rescorers.profiles import profile_toml


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
    refuse_at_most: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=0.5,
            help="Largest share of answerable requests to refuse, with a confidence of 95 %, in place of "
            "--most-false: by 59 judged requests for 0.05; without any by held-out catalogs of this size.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        bool, typer.Option(help="Fit the vectors of requests, too, if judged requests find more by it.")
    ] = True,
    limit: LimitOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the profile to this .toml file.")
    ] = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fits a profile to a catalog: vectors of requests, and the threshold below which nothing fits.

    With --queries or a dataset it asks judged requests, 20 or more: it turns the vectors of requests
    towards the APIs that serve such requests here, and chooses how much their cosine counts, how sure a hit
    is, and the threshold. Documents keep their vectors. Needs the extra `eval`.
    Without requests it fits the threshold alone, by descriptions of the catalog's own APIs that are asked
    while their tools are hidden; with --refuse-at-most by requests of held-out catalogs.
    """
    if output:
        check_profile_file(output)
    permitted = filter_of(tenant, principal)
    plan = Plan(profiles=(profile,), limit=limit, permitted=permitted)
    fitted_to: tuple[JudgedQuery, ...] = ()
    if dataset is None and queries is None:
        with existing_catalog(catalog) as own:
            adapted = (
                adapt_to_descriptions(own, profile, plan, progress())
                if refuse_at_most is None
                else adapt_to_held_out(own, profile, refuse_at_most)
            )
    else:
        with open_judged(dataset, data, queries, catalog, plan) as judged:
            if judged.unanswerable:
                note(f"{len(judged.unanswerable):,} requests without a right API take no part")
            adapted = adapt_to_requests(
                judged,
                profile,
                plan,
                progress(),
                Aim(most_false) if refuse_at_most is None else Aim(refuse_at_most, confident=True),
                vectors=vectors,
            )
            fitted_to = tuple(judged.queries)
    if output:
        _write(adapted, output, fitted_to)
        note(f"use it with --profile {output}, or name it in KITPICK_PROFILE")
    print_json(adapted.report) if as_json else _print(adapted)


def _write(adapted: Adapted, output: Path, fitted_to: Sequence[JudgedQuery]) -> None:
    """The profile, and before it its matrix, under a name that a later one does not share."""
    profile = adapted.profile
    if adapted.matrix is not None:
        content = adapted.matrix.encoded()
        file = output.with_name(f"{output.stem}-{blake2b(content, digest_size=4).hexdigest()}.npz")
        write_whole(file, content)
        profile = replace(profile, first_stage=replace(profile.first_stage, request_matrix=file.name))
    told = [*_told(adapted.report), *(fitted_comment(adapted.report, fitted_to) if fitted_to else ())]
    write_whole(output, profile_toml(profile, storable("\n".join(told))).encode())


def _print(adapted: Adapted) -> None:
    report = adapted.report
    rows = [
        ("NDCG@5 of requests left out", report.ndcg5_before, report.ndcg5),
        ("recall@5 of requests left out", report.recall5_before, report.recall5),
        ("threshold", report.threshold_before, report.threshold),
        ("refused with its tool hidden", report.caught_before, report.caught),
    ]
    table = Table("", "before", "adapted")
    for name, before, after in rows:
        if before is not None or after is not None:
            table.add_row(name, _number(before), _number(after))
    print_table(table)
    OUT.print("\n".join(_told(report)), soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


_BY = {
    "requests": "{} judged requests",
    "descriptions": "{} descriptions of APIs",
    "held-out": "{} requests of held-out catalogs",
}


def _told(report: AdaptReport) -> Iterator[str]:
    yield f"Adapted to {report.catalog} by {_BY[report.basis].format(report.asked)}."
    yield from _told_of_vectors(report)
    if report.left:
        yield f"{report.left[:1].upper()}{report.left[1:]}."
    yield from _told_of_threshold(report)


def _told_of_vectors(report: AdaptReport) -> Iterator[str]:
    if report.ndcg5 is not None and report.ndcg5 != report.ndcg5_before:
        how = "are turned" if report.turned else "stay as they are"
        counts = f", their cosine counts {report.cosine:g}" if report.cosine else ""
        yield (
            f"Vectors of requests {how}{counts}: NDCG@5 of requests that took no part "
            f"{report.ndcg5_before:.3f} -> {report.ndcg5:.3f}."
        )
    elif report.ndcg5 is not None:
        yield "Vectors of requests stay as they are: requests that took no part find no more by a matrix."


def _told_of_threshold(report: AdaptReport) -> Iterator[str]:
    if report.threshold is not None:
        yield f"Threshold {report.threshold:.4f}."
    if report.most_false is not None and report.most_false == report.most_false_at_worst:
        whose = f"requests like these ({report.sample})" if report.sample else "requests like these"
        share = f"{100 * report.most_false:.3g} %"
        yield f"At most {share} of {whose} are refused wrongly, with a confidence of 95 %."
    elif report.most_false is not None and report.most_false_at_worst is not None:
        yield (
            f"About {100 * report.most_false:.3g} % of requests like these are refused wrongly; "
            f"by {report.asked} of them it is hardly ever above {100 * report.most_false_at_worst:.3g} %."
        )
    elif (report.threshold or 0.0) < (report.threshold_before or 0.0):
        yield "It is lower: here good answers look less sure than elsewhere, and more of them were refused."
