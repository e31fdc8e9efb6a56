"""Options that several commands share, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CatalogOption = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        "-c",
        help="URL of the catalog: sqlite:PATH, opensearch://HOST/NAME, … Default: TOOLRANK_CATALOG.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", "-p", help="A shipped profile or a .toml file. Default: TOOLRANK_PROFILE."),
]
TenantOption = Annotated[str, typer.Option("--tenant", help="Tenant of the documents, or of who asks.")]
PrincipalOption = Annotated[
    list[str] | None, typer.Option("--principal", help="Who asks: a user or a group. Repeatable.")
]
DataOption = Annotated[Path, typer.Option("--data", help="Folder that holds the datasets' folders.")]
