"""`kitpick ingest`: sources into the catalog."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.catalog import Catalog
from kitpick.cli.console import complain, note, print_json, print_table
from kitpick.cli.options import (
    CatalogOption,
    EnvironmentOption,
    HeaderOption,
    JsonOption,
    live_settings,
)
from kitpick.cli.progress import progress
from kitpick.errors import ExitCode, exit_code
from kitpick_engines.errors import EngineError
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.approvals import Unapproved
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import Source, watch_source
from kitpick_ingest.sync import SyncOptions, SyncReport

_SHOWN = 20
_DIFFERENCES = {
    "new": "new since the approval",
    "description": "its description is not the approved one",
    "definition": "its definition is not the approved one",
}

CategoryOption = Annotated[str | None, typer.Option("--category", help="Category to give to every document.")]


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="KIND:TARGET (openapi:FILE, mcp:URL, botocore:s3,ec2, …) or a path.", metavar="SOURCE…"
        ),
    ],
    catalog: CatalogOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name to keep the source's documents under. For one source only."),
    ] = None,
    category: CategoryOption = None,
    tenant: Annotated[
        str, typer.Option("--tenant", help="Tenant that the documents belong to. Default: all tenants.")
    ] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", help="User or group that may see the documents. Repeatable. Default: all."),
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="Allow documents that only a tenant or some users could see to become public."
        ),
    ] = False,
    reread: Annotated[
        bool, typer.Option("--reread", help="Read files again that did not change since the last sync.")
    ] = False,
    allow_shrink: Annotated[
        bool,
        typer.Option("--allow-shrink", help="Delete documents even if the source lost more than half."),
    ] = False,
    dead_letters: Annotated[
        Path | None, typer.Option("--dead-letters", help="File for the entries that cannot be used, and why.")
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option(
            "--lock",
            help="Lock file of `kitpick lock`: APIs that are not as approved are named in the report.",
        ),
    ] = None,
    hold_back: Annotated[
        bool,
        typer.Option(
            "--hold-back",
            help="With --lock: keep what is not as approved out of the catalog. Approved versions stay.",
        ),
    ] = False,
    header: HeaderOption = None,
    env: EnvironmentOption = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.1, help="Seconds to wait for the next entry of a source."),
    ] = 300.0,
    wait: Annotated[
        float, typer.Option("--wait", min=0.0, help="Seconds to wait while the same source is being synced.")
    ] = 0.0,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Keep running, and sync again whenever a live MCP server announces a change."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Brings the catalog in line with one or more sources.

    Only what changed is embedded and written. Entries that cannot be used are skipped and counted. A source
    that fails does not keep the others out.
    """
    _require_one(sources, {"--name": name, "--dead-letters": dead_letters, "--watch": watch or None})
    if hold_back and lock is None:
        raise typer.BadParameter("needs --lock, which says what is approved", param_hint="--hold-back")
    live = live_settings(header, env)
    opened = [
        open_source(
            spec, name=name, category=category, tenant=tenant or None, allowed=tuple(allow or ()), live=live
        )
        for spec in sources
    ]
    _refuse_namesakes(opened)
    options = SyncOptions(
        allow_shrink=allow_shrink,
        public=public,
        dead_letters=dead_letters,
        lock=lock,
        hold_back=hold_back,
        wait=wait,
        reread=reread,
        source_timeout=timeout,
    )
    with Catalog.open(catalog) as target:
        if watch:
            _follow(target, opened[0], options, as_json)
            return
        reports, failures = _taken_in(target, opened, options)
    if len(failures) == len(opened) == 1:
        raise failures[0]
    if as_json:
        print_json(reports)
    elif reports:
        _print(reports)
    _name_failed(opened, reports, failures)
    _exit(reports)


def _taken_in(
    catalog: Catalog, sources: Sequence[Source], options: SyncOptions
) -> tuple[list[SyncReport], list[KitpickError]]:
    """Reports of the sources, and what was wrong with others: with the catalog, none is tried any more."""
    found: list[SyncReport | KitpickError] = []
    for source in sources:
        if not any(isinstance(each, EngineError) for each in found):
            found.append(_outcome(catalog, source, options))
    reports = [each for each in found if isinstance(each, SyncReport)]
    return reports, [each for each in found if isinstance(each, KitpickError)]


def _outcome(catalog: Catalog, source: Source, options: SyncOptions) -> SyncReport | KitpickError:
    try:
        return catalog.ingest(source, options=options, progress=progress())
    except KitpickError as error:
        return error


def _name_failed(
    sources: Sequence[Source], reports: Sequence[SyncReport], failures: Sequence[KitpickError]
) -> None:
    """Ends the command with the exit code of the first failure, if there is one."""
    for error in failures:
        complain(error)
    if failures:
        done = {report.source for report in reports}
        note(f"not taken in: {', '.join(each.name for each in sources if each.name not in done)}")
        raise typer.Exit(exit_code(failures[0]))


def _require_one(sources: Sequence[str], options: Mapping[str, object]) -> None:
    """Refuses options that are for one source where there are several."""
    for option, given in options.items():
        if given is not None and len(sources) > 1:
            raise typer.BadParameter("is for one source, several were given", param_hint=option)


def _exit(reports: Sequence[SyncReport]) -> None:
    """Ends the command with another exit code if something was left out or is not as approved."""
    if any(report.dead_letters for report in reports):
        raise typer.Exit(ExitCode.DEAD_LETTERS)
    if any(report.unapproved for report in reports):
        raise typer.Exit(ExitCode.UNAPPROVED)


def _follow(catalog: Catalog, source: Source, options: SyncOptions, as_json: bool) -> None:
    """Syncs at every change, and reports it, until the server or the user ends it."""

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


def _refuse_namesakes(sources: list[Source]) -> None:
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(
                f"two sources are called {name!r} and would take each other's documents away: "
                "ingest them one by one, each with its --name"
            )


def _print(reports: list[SyncReport]) -> None:
    table = Table("source", "added", "changed", "unchanged", "deleted", "left out", "embedded", "seconds")
    for report in reports:
        counts = (report.added, report.changed, report.unchanged, report.deleted, report.dead_letters)
        cells = [f"{count:,}" for count in (*counts, report.embedded)]
        table.add_row(report.source, *cells, f"{report.seconds['total']:.1f}")
    print_table(table)
    for report in reports:
        _name_unapproved(report.unapproved)
        for cut in report.cut_texts:
            note(f"{report.source}: {cut.told()}")


def _name_unapproved(found: Sequence[Unapproved]) -> None:
    for each in found[:_SHOWN]:
        note(f"{each.id}: {_DIFFERENCES[each.difference]}{', held back' if each.held_back else ''}")
    if len(found) > _SHOWN:
        note(f"{len(found) - _SHOWN:,} more are not as approved: --json names all")
