"""`kitpick copy`: whole catalogs into other files and engines."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import JsonOption
from kitpick.cli.progress import progress
from kitpick.errors import ExitCode
from kitpick_engines.opening import open_engine
from kitpick_ingest.copies import CopyReport, copy_catalog


def copy(
    source: Annotated[str, typer.Argument(help="URL of the catalog to read.", metavar="SOURCE")],
    target: Annotated[str, typer.Argument(help="URL of the catalog to write.", metavar="TARGET")],
    as_json: JsonOption = False,
) -> None:
    """Copies a catalog into another engine or file, without embedding anything again: also as a backup.

    Afterwards the target is equal to the source: what the source lacks is deleted from the target.
    """
    with closing(open_engine(source)) as read, closing(open_engine(target)) as written:
        report = copy_catalog(read, written, progress())
    print_json(report) if as_json else _print_copy(report)
    if report.refused:
        raise typer.Exit(ExitCode.DEAD_LETTERS)


def _print_copy(report: CopyReport) -> None:
    table = Table("index", "written", "unchanged", "deleted", "left out")
    counts = (report.written, report.unchanged, report.deleted, len(report.refused))
    table.add_row(report.index, *(f"{count:,}" for count in counts))
    print_table(table)
    for text in report.refused:
        note(text)
