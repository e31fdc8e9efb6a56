"""`kitpick lint`: APIs of a catalog that are hard to find, and why."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from kitpick.catalog import Catalog
from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import complain_gate, print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption, PrincipalOption, TenantOption, filter_of
from kitpick.cli.progress import progress
from kitpick.errors import ExitCode
from kitpick_engines.contract import Filter
from kitpick_evaluation.health.findings import Finding, FindingEffect, FindingKind, Health
from kitpick_evaluation.health.lint import lint as find_faults
from kitpick_ingest.progress import Progress
from kitpick_ingest.prose import clip

PROFILE = "hybrid"
"""Both rankings without a model that reorders: what they do not propose, nothing finds."""


def lint_catalog(catalog: Catalog, permitted: Filter, sample: int | None, progress: Progress) -> Health:
    """Checks every API. Searches with a request made for each visible API, or for an even sample of them.

    Raises:
        EmptyCatalog: nothing was ingested yet.
        EngineError, ModelError: the catalog cannot be searched.
    """
    index, _ = catalog.live()
    items = list(catalog.engine.documents(index))
    documents = [item.document for item in items]
    visible = catalog.engine.fetch([document.id for document in documents], permitted)
    count = len(visible) if sample is None else min(sample, len(visible))
    asked_of = [visible[index * len(visible) // count] for index in range(count)]

    def search(request: str, k: int) -> list[str]:
        hits = catalog.search(request, k, profile=PROFILE, filter=permitted).hits
        return [hit.document.id for hit in hits]

    with progress.phase("ask", len(asked_of)) as advance:
        vectors = np.stack([item.vector for item in items]) if items else np.empty((0, 0), np.float32)
        return find_faults(documents, vectors, search, asked_of, advance)


_SHOWN = 5


def lint(
    catalog: CatalogOption = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, help="Search for this many APIs only, spread evenly."),
    ] = None,
    kind: Annotated[
        list[FindingKind] | None, typer.Option("--kind", help="Show only this kind of finding. Repeatable.")
    ] = None,
    shown: Annotated[
        int, typer.Option("--show", min=0, help="Number of examples to show for each kind.")
    ] = _SHOWN,
    fail_on: Annotated[
        list[FindingKind] | None,
        typer.Option("--fail-on", help="Exit with code 7 if there is a finding of this kind. Repeatable."),
    ] = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Finds APIs that are hard to find: poor descriptions, duplicates, confusable names.

    Every API is searched for with a request made of its own description. Each finding comes with the rank
    that the API has then, and the rank that it would have without the API it is confused with.
    """
    permitted = filter_of(tenant, principal)
    with existing_catalog(catalog) as opened:
        health = lint_catalog(opened, permitted, sample, progress())
    wanted = set(kind or FindingKind)
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
    title = f"{health.apis:,} APIs, {health.asked:,} of them searched for, {health.depth} hits each"
    table = Table("finding", "count", "APIs", "found", "others", "MRR", "others", title=title)
    for effect in health.effects:
        matching = [finding for finding in findings if finding.kind is effect.kind]
        if matching:
            table.add_row(
                effect.kind.value, str(len(matching)), str(effect.apis), *_effect(effect, health.asked)
            )
    print_table(table)
    examples = Table("finding", "api", "other", "rank", "without it", "what")
    for kind in FindingKind:
        for finding in [finding for finding in findings if finding.kind is kind][:shown]:
            ranks = (str(rank) if rank else "–" for rank in (finding.rank, finding.rank_without))
            examples.add_row(kind.value, finding.api, finding.other, *ranks, clip(finding.detail, 80))
    if examples.row_count:
        print_table(examples)


def _effect(effect: FindingEffect, asked: int) -> tuple[str, ...]:
    """How well APIs with a finding are found, and the others; a dash where no API of that group was asked."""
    with_it, others = effect.asked > 0, asked > effect.asked
    return (
        f"{effect.found:.0%}" if with_it else "–",
        f"{effect.found_sound:.0%}" if others else "–",
        f"{effect.reciprocal_rank:.2f}" if with_it else "–",
        f"{effect.reciprocal_rank_sound:.2f}" if others else "–",
    )
