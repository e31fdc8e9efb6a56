"""`kitpick harvest`: judged requests from logged tool calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption
from kitpick_evaluation.logs import Harvest, query_lines, read_logs
from kitpick_evaluation.logs import harvest as harvest_logs
from kitpick_evaluation.report import write_whole

_SHOWN = 10


def harvest(
    logs: Annotated[
        list[Path],
        typer.Argument(
            help='OpenTelemetry GenAI spans (OTLP JSON lines), or lines of {"query": …, "tools": […]}.',
            metavar="LOG…",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the judged requests.")],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turns logged tool calls into judged requests for `kitpick eval --queries`.

    Masks secrets and personal data, merges equal requests, and looks the tool names up in the catalog.
    Whatever was called counts as right: read the file before you trust it.
    """
    with existing_catalog(catalog) as opened:
        index, _ = opened.live()
        documents = [item.document for item in opened.engine.documents(index)]
    found = harvest_logs(read_logs(logs), documents)
    write_whole(output, query_lines(found.queries))
    print_json(found) if as_json else _print(found)
    note(f"{len(found.queries)} judged requests are in {output}")


def _print(found: Harvest) -> None:
    table = Table("requests read", "judged", "merged", "masked", "without a known tool")
    counts = (found.read, len(found.queries), found.merged, found.masked, found.without_tools)
    table.add_row(*(str(count) for count in counts))
    print_table(table)
    for what, names in (("unknown", found.unknown), ("ambiguous", found.ambiguous)):
        for name, count in list(names.items())[:_SHOWN]:
            note(f"{what}: {name} (called {count} times)")
