"""`toolrank ingest`: sources into the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import note, print_json, print_table
from toolrank.cli.options import CatalogOption, JsonOption, TenantOption
from toolrank.cli.progress import progress
from toolrank.errors import ExitCode
from toolrank_ingest.opening import open_source
from toolrank_ingest.sync import SyncOptions, SyncReport

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        help="KIND:TARGET (openapi:FILE, mcp:URL, botocore:s3,ec2, …) or a path.", metavar="SOURCE…"
    ),
]


def ingest(
    sources: SourcesArgument,
    catalog: CatalogOption = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Owner of the documents. One source only.")
    ] = None,
    category: Annotated[str | None, typer.Option("--category", help="Category of every document.")] = None,
    tenant: TenantOption = "",
    allow: Annotated[
        list[str] | None, typer.Option("--allow", help="Principal who may see the documents. Repeatable.")
    ] = None,
    allow_shrink: Annotated[
        bool, typer.Option("--allow-shrink", help="Delete even when a source lost more than half or all.")
    ] = False,
    dead_letters: Annotated[
        Path | None, typer.Option("--dead-letters", help="Write entries that were left out to this file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Brings the catalog in line with one or more sources.

    Only what changed is embedded and written. Entries that cannot be used are left out and counted.
    """
    for option, given in (("--name", name), ("--dead-letters", dead_letters)):
        if given is not None and len(sources) > 1:
            raise typer.BadParameter("is for one source, several were given", param_hint=option)
    options = SyncOptions(allow_shrink=allow_shrink, dead_letters=dead_letters)
    with Catalog.open(catalog) as opened:
        reports = [
            opened.ingest(
                open_source(
                    spec, name=name, category=category, tenant=tenant or None, allowed=tuple(allow or ())
                ),
                options=options,
                progress=progress(),
            )
            for spec in sources
        ]
    print_json(reports) if as_json else _print(reports)
    if any(report.dead_letters for report in reports):
        raise typer.Exit(ExitCode.DEAD_LETTERS)


def _print(reports: list[SyncReport]) -> None:
    table = Table("source", "added", "changed", "unchanged", "deleted", "left out", "embedded", "seconds")
    for report in reports:
        counts = (report.added, report.changed, report.unchanged, report.deleted, report.dead_letters)
        cells = [f"{count:,}" for count in (*counts, report.embedded)]
        table.add_row(report.source, *cells, f"{report.seconds['total']:.1f}")
    print_table(table)
    for report in reports:
        for text in report.notes:
            note(text)
