"""`toolrank harvest`: judged requests out of logged tool calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import note, print_json, print_table
from toolrank.cli.options import CatalogOption, JsonOption
from toolrank_evaluation.logs.harvest import Harvest, query_lines
from toolrank_evaluation.logs.harvest import harvest as harvest_logs
from toolrank_evaluation.logs.reading import read_logs
from toolrank_evaluation.report import write_whole

_SHOWN = 10


def harvest(
    logs: Annotated[
        list[Path],
        typer.Argument(
            help='OpenTelemetry GenAI spans (OTLP JSON lines), or lines of {"query": …, "tools": […]}.',
            metavar="LOG…",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the judged requests go.")],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Makes judged requests for `toolrank eval --queries` out of tool calls that were logged.

    Secrets and personal data are masked, equal requests merged, and names resolved against the catalog. What
    was called counts as relevant: look the file through before you trust it.
    """
    with Catalog.open(catalog) as opened:
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
