"""`kitpick catalog` and `kitpick copy`: whole catalogs into files and into other engines."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption
from kitpick.cli.progress import progress
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_engines.contract import BackupReport
from kitpick_engines.opening import open_engine
from kitpick_ingest.copies import CopyReport, backup_catalog, copy_catalog, restore_catalog

catalog_files = typer.Typer(
    help="Backs up a SQLite catalog, and restores it.", no_args_is_help=True, add_completion=False
)


@catalog_files.command("backup")
def backup(
    file: Annotated[
        Path,
        typer.Argument(help="File for the backup. An older one of this name is replaced.", metavar="FILE"),
    ],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Writes the catalog with its vectors into one file. Others may search it and write to it meanwhile."""
    with closing(open_engine(catalog or Settings().catalog)) as engine:
        _print_backup(backup_catalog(engine, file), as_json)


@catalog_files.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="Backup that `kitpick catalog backup` wrote.", metavar="FILE")],
    catalog: CatalogOption = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Restore even if the catalog holds documents, which are then replaced."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Restores the catalog from a backup. Others may search it meanwhile."""
    with closing(open_engine(catalog or Settings().catalog)) as engine:
        _print_backup(restore_catalog(engine, file, progress(), replace=replace), as_json)


def copy(
    source: Annotated[str, typer.Argument(help="URL of the catalog to read.", metavar="SOURCE")],
    target: Annotated[str, typer.Argument(help="URL of the catalog to write.", metavar="TARGET")],
    as_json: JsonOption = False,
) -> None:
    """Copies a catalog into another engine or file, without embedding anything again.

    Afterwards the target is equal to the source: what the source lacks is deleted from the target.
    """
    with closing(open_engine(source)) as read, closing(open_engine(target)) as written:
        report = copy_catalog(read, written, progress())
    print_json(report) if as_json else _print_copy(report)
    if report.refused:
        raise typer.Exit(ExitCode.DEAD_LETTERS)


def _print_backup(report: BackupReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    table = Table("documents", "without a vector", "size")
    table.add_row(f"{report.documents:,}", f"{report.damaged:,}", f"{report.bytes / 1e6:.1f} MB")
    print_table(table)
    if report.damaged:
        note(f"{report.damaged:,} vectors are damaged or missing: ingest the sources again")


def _print_copy(report: CopyReport) -> None:
    table = Table("index", "written", "unchanged", "deleted", "left out")
    counts = (report.written, report.unchanged, report.deleted, len(report.refused))
    table.add_row(report.index, *(f"{count:,}" for count in counts))
    print_table(table)
    for text in report.refused:
        note(text)
