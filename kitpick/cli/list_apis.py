"""`kitpick list`: what a catalog holds."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from kitpick.cli.catalogs import check_names, existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import (
    CatalogOption,
    CategoryOption,
    EffectOption,
    JsonOption,
    PrincipalOption,
    TenantOption,
    ToolOption,
    filter_of,
)
from kitpick_engines.text import plain


def list_apis(
    catalog: CatalogOption = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    category: CategoryOption = None,
    tool: ToolOption = None,
    effect: EffectOption = None,
    deprecated: Annotated[
        Literal["include", "exclude", "only"],
        typer.Option("--deprecated", help="Include deprecated APIs, exclude them, or list only them."),
    ] = "include",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="List at most so many.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Lists the APIs of a catalog by id: their tools, categories and effects."""
    wanted = filter_of(tenant, principal, category, tool, effect, deprecated)
    with existing_catalog(catalog) as opened:
        check_names(opened, wanted)
        rows = [
            {
                "id": each.id,
                "category": each.category,
                "tool": each.tool_key,
                "effect": each.effect.value,
                "deprecated": each.deprecated,
            }
            for each in islice(opened.documents(wanted), limit)
        ]
    if as_json:
        print_json(rows)
        return
    table = Table("id", "category", "tool", "effect")
    for row in rows:
        mark = " (deprecated)" if row["deprecated"] else ""
        shown = (f"{row['id']}{mark}", row["category"], row["tool"], row["effect"])
        table.add_row(*(escape(plain(str(each), 300)) for each in shown))
    print_table(table)
    note(f"{len(rows):,} APIs")
