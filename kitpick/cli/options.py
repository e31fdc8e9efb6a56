"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CatalogOption = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        "-c",
        help="URL of the catalog: sqlite:PATH, opensearch://HOST/NAME, … Default: KITPICK_CATALOG.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", "-p", help="A shipped profile or a .toml file. Default: KITPICK_PROFILE."),
]
TenantOption = Annotated[str, typer.Option("--tenant", help="Tenant to search as. Default: none.")]
PrincipalOption = Annotated[
    list[str] | None,
    typer.Option("--principal", help="User or group to search as. Repeatable. Default: public APIs only."),
]
DataOption = Annotated[Path, typer.Option("--data", help="Folder with one folder for each dataset.")]
MaxCallsOption = Annotated[int, typer.Option("--max-calls", min=1, help="Most calls that this run may make.")]
MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", min=1, help="Most tokens that this run may use.")
]
MaxCostOption = Annotated[
    float,
    typer.Option("--max-cost", min=0, help="Most that this run may cost, by the prices in the settings."),
]
HoursOption = Annotated[float, typer.Option("--hours", min=0.001, help="Most hours that the calls may take.")]
RetriesOption = Annotated[
    int, typer.Option("--retries", min=0, help="Most retries, over all calls together.")
]
