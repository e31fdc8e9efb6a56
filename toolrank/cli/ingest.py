"""`toolrank ingest`: sources into the catalog."""

from __future__ import annotations

import os
import signal
import threading
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
from toolrank_ingest.sharding import parse_shard
from toolrank_ingest.source import Source
from toolrank_ingest.sources.mcp_endpoint import LiveSettings
from toolrank_ingest.sync import SyncOptions, SyncReport
from toolrank_ingest.watching import watch_source

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
    reread: Annotated[
        bool, typer.Option("--reread", help="Read files again that are as they were at the last sync.")
    ] = False,
    allow_shrink: Annotated[
        bool, typer.Option("--allow-shrink", help="Delete even when a source lost more than half or all.")
    ] = False,
    dead_letters: Annotated[
        Path | None, typer.Option("--dead-letters", help="Write entries that were left out to this file.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            help="NAME=VARIABLE: an HTTP header with the value of an environment variable, which no list of "
            "processes shows. Repeatable.",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="Environment variable that a started MCP server gets too. Repeatable."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.1, help="Seconds that a source may take to yield its next entry."),
    ] = 300.0,
    wait: Annotated[
        float, typer.Option("--wait", min=0.0, help="Seconds to wait for another sync of the same source.")
    ] = 0.0,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Only the I-th of N parts of each source; other processes take the others at the same time. "
            "OpenSearch and Elasticsearch.",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Go on, and sync again whenever a live MCP server announces a change."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Brings the catalog in line with one or more sources.

    Only what changed is embedded and written. Entries that cannot be used are left out and counted.
    """
    for option, given in (("--name", name), ("--dead-letters", dead_letters), ("--watch", watch or None)):
        if given is not None and len(sources) > 1:
            raise typer.BadParameter("is for one source, several were given", param_hint=option)
    live = LiveSettings(headers=_headers(header or []), environment=_environment(env or []))
    opened = [
        open_source(
            spec, name=name, category=category, tenant=tenant or None, allowed=tuple(allow or ()), live=live
        )
        for spec in sources
    ]
    _refuse_namesakes(opened)
    options = SyncOptions(
        allow_shrink=allow_shrink,
        dead_letters=dead_letters,
        wait=wait,
        reread=reread,
        source_timeout=timeout,
        shard=None if shard is None else _shard(shard),
    )
    with Catalog.open(catalog) as target:
        if watch:
            _follow(target, opened[0], options, as_json)
            return
        reports = [target.ingest(source, options=options, progress=progress()) for source in opened]
    print_json(reports) if as_json else _print(reports)
    if any(report.dead_letters for report in reports):
        raise typer.Exit(ExitCode.DEAD_LETTERS)


def _follow(catalog: Catalog, source: Source, options: SyncOptions, as_json: bool) -> None:
    """A report for every change until the server or the user ends it."""

    def changed(snapshot: Source) -> None:
        report = catalog.ingest(snapshot, options=options, progress=progress())
        print_json(report) if as_json else _print([report])

    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    note(f"watching {source.name}: Ctrl-C ends it")
    try:
        watch_source(source, changed, stop)
    finally:
        signal.signal(signal.SIGINT, before)


def _shard(text: str) -> tuple[int, int]:
    try:
        return parse_shard(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--shard") from None


def _refuse_namesakes(sources: list[Source]) -> None:
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(
                f"two sources are called {name!r} and would take each other's documents away: "
                "ingest them one by one, each with its --name"
            )


def _headers(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for header, equals, variable in pairs:
        if not (header and equals and variable):
            raise typer.BadParameter(f"{header!r} is not NAME=VARIABLE", param_hint="--header")
    return {header: _variable(variable, "--header") for header, _, variable in pairs}


def _environment(variables: list[str]) -> dict[str, str]:
    return {variable: _variable(variable, "--env") for variable in variables}


def _variable(name: str, option: str) -> str:
    if name not in os.environ:
        raise typer.BadParameter(f"the environment variable {name!r} is not set", param_hint=option)
    return os.environ[name]


def _print(reports: list[SyncReport]) -> None:
    table = Table("source", "added", "changed", "unchanged", "deleted", "left out", "embedded", "seconds")
    for report in reports:
        counts = (report.added, report.changed, report.unchanged, report.deleted, report.dead_letters)
        cells = [f"{count:,}" for count in (*counts, report.embedded)]
        table.add_row(report.source, *cells, f"{report.seconds['total']:.1f}")
    print_table(table)
