"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from kitpick_engines.contract import Filter
from kitpick_engines.document import Effect
from kitpick_ingest.sources.mcp_endpoint import LiveSettings


def repeatable(name: str, text: str) -> object:
    """An option that may be given more than once; `text` says what one of them does."""
    return typer.Option(name, help=f"{text} Repeatable.")


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
CategoryOption = Annotated[list[str] | None, repeatable("--category", "Only APIs of this category.")]
ToolOption = Annotated[
    list[str] | None, repeatable("--tool", "Only APIs of this tool, written CATEGORY/TOOL.")
]
EffectOption = Annotated[list[Effect] | None, repeatable("--effect", "Only APIs with this effect.")]
DataOption = Annotated[Path, typer.Option("--data", help="Folder with one folder for each dataset.")]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        help="NAME=VARIABLE: send the HTTP header NAME with the value of an environment variable, so "
        "that no list of processes shows it. Repeatable.",
    ),
]
EnvironmentOption = Annotated[
    list[str] | None,
    typer.Option("--env", help="Environment variable to pass on to a started MCP server. Repeatable."),
]

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


def filter_of(
    tenant: str,
    principals: Iterable[str] | None,
    categories: Iterable[str] | None = None,
    tools: Iterable[str] | None = None,
    effects: Iterable[Effect] | None = None,
    deprecated: Literal["include", "exclude", "only"] = "include",
) -> Filter:
    """The filter that the options of a command make together."""
    return Filter(
        tenant=tenant,
        principals=frozenset(principals or ()),
        categories=frozenset(categories or ()),
        tools=frozenset(tools or ()),
        effects=frozenset(effects or ()),
        deprecated=deprecated,
    )


def live_settings(headers: list[str] | None, variables: list[str] | None) -> LiveSettings:
    """What `--header` and `--env` say.

    Raises:
        BadParameter: it is not NAME=VARIABLE, or a variable that is not set.
    """
    return LiveSettings(headers=_headers(headers or []), environment=_environment(variables or []))


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
