"""`kitpick advise`: whether searching for tools is worth it, against sending all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kitpick.advice import SHIPPED_PRICES, Advice, ModelUsage, read_prices
from kitpick.advice import advise as compare_ways
from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption, PrincipalOption, TenantOption, filter_of
from kitpick.definition_tokens import DefinitionTokens

_DEFAULT = ModelUsage()
_IN_A_PROMPT = {
    "all": "every definition, at the beginning",
    "deferred": "a search that the model calls, and behind it what it found",
    "searched": "what kitpick found for the request, at the beginning",
}


def advise(
    catalog: CatalogOption = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="Model that the agent uses, as the table of prices names it.")
    ] = "claude-sonnet-4-5",
    prices: Annotated[
        Path,
        typer.Option(
            "--prices",
            help="Table of prices, TOML. Default: the shipped one, see its date.",
            show_default=False,
        ),
    ] = SHIPPED_PRICES,
    k: Annotated[int, typer.Option("-k", min=1, help="Tools that a search finds.")] = _DEFAULT.k,
    calls: Annotated[
        int, typer.Option("--calls", min=1, help="Calls of the model for one request.")
    ] = _DEFAULT.calls,
    conversation: Annotated[
        int, typer.Option("--conversation", min=0, help="Tokens of instructions and messages in a prompt.")
    ] = _DEFAULT.conversation,
    cached: Annotated[
        float,
        typer.Option(
            "--cached", min=0, max=1, help="Share of the calls that find their prefix in the cache."
        ),
    ] = _DEFAULT.cached,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Says what it costs to send all tools, deferred ones, or those that a search found.

    Counts the tokens of the definitions that the caller may see. Nothing is sent anywhere: prices come from
    a file. If sending all tools is cheaper, it says so.
    """
    table = read_prices(prices)
    table.of(model)  # refused before the catalog is read
    permitted = filter_of(tenant, principal)
    tokens = DefinitionTokens()
    with existing_catalog(catalog) as opened:
        sizes = [tokens.of([document]) for document in opened.documents(permitted)]
    usage = ModelUsage(k, calls, conversation, cached)
    found = compare_ways(model, table, sizes, tokens.counter.name, usage)
    if as_json:
        print_json(found)
    else:
        _print(found)
        note(f"prices of {found.prices_as_of}, from {prices}: for newer ones, --prices takes a changed copy")


def _print(found: Advice) -> None:
    title = f"{found.tools:,} tools, {found.tokens:,} tokens ({found.counter}), {found.model}"
    table = Table("tools", "in a prompt", "tokens", "of the window", "dollars / 1,000 requests", title=title)
    for way in found.ways:
        numbers = f"{way.tokens:,}", f"{way.window_share:.1%}", f"{way.dollars:,.2f}"
        table.add_row(way.name, _IN_A_PROMPT[way.name], *numbers)
    print_table(table)
    typer.echo(found.reason[0].upper() + found.reason[1:] + ".")
    if found.worth_from:
        typer.echo(f"With tools of this size, searching costs less from {found.worth_from:,} tools on.")
