"""`toolrank lint`: what in a catalog keeps requests from finding the right API."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import complain_gate, print_json, print_table
from toolrank.cli.options import JsonOption, PrincipalOption, TenantOption
from toolrank.cli.progress import progress
from toolrank.errors import ExitCode
from toolrank.linting import lint_catalog
from toolrank_engines.contract import Filter
from toolrank_evaluation.health.findings import Effect, Finding, Health, Kind
from toolrank_ingest.prose import clip

_SHOWN = 5


def lint(
    catalog: Annotated[
        str | None, typer.Argument(help="URL of the catalog. Default: TOOLRANK_CATALOG.", metavar="CATALOG")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, help="Ask the own requests of so many APIs instead of all."),
    ] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option("--kind", help="Only this kind of finding. Repeatable.")
    ] = None,
    shown: Annotated[int, typer.Option("--show", min=0, help="How many examples of each kind.")] = _SHOWN,
    fail_on: Annotated[
        list[Kind] | None,
        typer.Option("--fail-on", help="Exit with code 7 when there is such a finding. Repeatable."),
    ] = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Checks descriptions, doubles, and whether every API is found by a request of its own.

    Each finding comes with its effect: the rank of the API for its own request, and without the other one.
    """
    permitted = Filter(tenant=tenant, principals=frozenset(principal or ()))
    with Catalog.open(catalog) as opened:
        health = lint_catalog(opened, permitted, sample, progress())
    wanted = set(kind or Kind)
    findings = [finding for finding in health.findings if finding.kind in wanted]
    if as_json:
        print_json(Health(health.apis, health.asked, health.depth, tuple(findings), health.effects))
    else:
        _print(health, findings, shown)
    broken = [name for name in fail_on or () if any(finding.kind is name for finding in health.findings)]
    complain_gate([f"the catalog has findings of kind {name.value!r}" for name in broken])
    if broken:
        raise typer.Exit(ExitCode.GATE)


def _print(health: Health, findings: list[Finding], shown: int) -> None:
    title = (
        f"{health.apis:,} APIs, {health.asked:,} asked for by requests of their own, {health.depth} hits each"
    )
    table = Table("finding", "count", "APIs", "found", "others", "MRR", "others", title=title)
    for effect in health.effects:
        matching = [finding for finding in findings if finding.kind is effect.kind]
        if matching:
            table.add_row(effect.kind.value, str(len(matching)), str(effect.apis), *_effect(effect))
    print_table(table)
    examples = Table("finding", "api", "other", "rank", "without it", "what")
    for kind in Kind:
        for finding in [finding for finding in findings if finding.kind is kind][:shown]:
            ranks = (str(rank) if rank else "–" for rank in (finding.rank, finding.rank_without))
            examples.add_row(kind.value, finding.api, finding.other, *ranks, clip(finding.detail, 80))
    if examples.row_count:
        print_table(examples)


def _effect(effect: Effect) -> tuple[str, ...]:
    return (
        f"{effect.found:.0%}",
        f"{effect.found_sound:.0%}",
        f"{effect.reciprocal_rank:.2f}",
        f"{effect.reciprocal_rank_sound:.2f}",
    )
