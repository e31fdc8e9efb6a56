"""`kitpick lock`: approves the definitions of a catalog or source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import CatalogOption, EnvironmentOption, HeaderOption, JsonOption, live_settings
from kitpick.errors import ExitCode
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.report import write_whole
from kitpick_ingest.approvals import Approvals
from kitpick_ingest.dead_letters import DeadLetterFile
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import Source
from kitpick_ingest.source_reader import read_source
from kitpick_ingest.sync import SyncOptions

_SHOWN = 20


class LockReport(msgspec.Struct, frozen=True):
    """What a lock file approves, beside the one before it of the same name."""

    approved: int
    """APIs, of all sources."""
    new: tuple[str, ...]
    """Ids that the one before did not approve."""
    changed: tuple[str, ...]
    """Ids that it approved in another form."""
    gone: tuple[str, ...]
    """Ids that only it approved."""


def lock(
    file: Annotated[
        Path, typer.Argument(help="The lock file, written or brought up to date.", metavar="FILE")
    ],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Read these sources, as for `kitpick ingest`. Default: the catalog.", metavar="SOURCE…"
        ),
    ] = None,
    catalog: CatalogOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name that the source has in the catalog. For one source only."),
    ] = None,
    header: HeaderOption = None,
    env: EnvironmentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approves the definitions of a catalog or source, in a lock file.

    The file holds digests. `kitpick ingest --lock FILE` then names what is new or changed. Sources that are
    not read here stay approved as they are in the file.
    """
    if name is not None and len(sources or ()) != 1:
        raise typer.BadParameter("is for one source", param_hint="--name")
    before = Approvals.read(file) if file.exists() else Approvals(2, {})
    live = live_settings(header, env)
    letters = DeadLetterFile(None)
    if sources:
        now = Approvals.of(_documents([open_source(spec, name=name, live=live) for spec in sources], letters))
    else:
        with existing_catalog(catalog) as opened:
            index, _ = opened.live()
            now = Approvals.of(item.document for item in opened.engine.documents(index))
    approved = now.over(before)
    write_whole(file, approved.encode())
    report = compare(before, approved)
    print_json(report) if as_json else _print(report)
    for summary in letters.summaries():
        note(summary)
    if letters.count:
        raise typer.Exit(ExitCode.DEAD_LETTERS)


def compare(before: Approvals, now: Approvals) -> LockReport:
    """What the newer approvals change."""
    old = {key: digests for found in before.sources.values() for key, digests in found.items()}
    new = {key: digests for found in now.sources.values() for key, digests in found.items()}
    return LockReport(
        approved=len(new),
        new=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(key for key in new.keys() & old.keys() if new[key] != old[key])),
        gone=tuple(sorted(old.keys() - new.keys())),
    )


def _documents(sources: Iterable[Source], letters: DeadLetterFile) -> Iterator[ApiDocument]:
    """The documents of all sources; what cannot be used goes to the dead letters."""
    for source in sources:
        for item in read_source(source, SyncOptions().source_timeout):
            if isinstance(item, ApiDocument):
                yield item
            else:
                letters.add(item)


def _print(report: LockReport) -> None:
    table = Table("approved", "new", "changed", "gone")
    counts = (report.approved, len(report.new), len(report.changed), len(report.gone))
    table.add_row(*(f"{count:,}" for count in counts))
    print_table(table)
    if len(report.new) < report.approved:
        for what in ("new", "changed", "gone"):
            _name(what, getattr(report, what))


def _name(what: str, ids: Sequence[str]) -> None:
    for each in ids[:_SHOWN]:
        note(f"{what}: {each}")
    if len(ids) > _SHOWN:
        note(f"{what}: {len(ids) - _SHOWN:,} more, named by --json")
