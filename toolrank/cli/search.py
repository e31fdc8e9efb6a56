"""`toolrank search`: a request in words, the APIs that serve it."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import OUT, note, print_json, print_table
from toolrank.cli.options import CatalogOption, JsonOption, PrincipalOption, ProfileOption, TenantOption
from toolrank.result import SearchResult
from toolrank_engines.contract import Filter
from toolrank_engines.document import Effect
from toolrank_engines.text import plain
from toolrank_ingest.definitions import DefinitionFormat
from toolrank_ingest.prose import clip
from toolrank_rescorers.explain import explain as explain_trace

_SUMMARY = 56
"""Characters of a description in the table: with the other columns it fits a wide terminal."""

RequestArgument = Annotated[
    str, typer.Argument(help="What somebody wants done; - reads it from standard input.", metavar="REQUEST")
]


def _many(name: str, text: str) -> object:
    return typer.Option(name, help=f"{text} Repeatable.")


def search(
    request: RequestArgument,
    catalog: CatalogOption = None,
    k: Annotated[int, typer.Option("-k", min=0, help="How many hits at most.")] = 5,
    profile: ProfileOption = None,
    budget: Annotated[
        int | None, typer.Option("--budget", min=0, help="Tokens that the definitions may take together.")
    ] = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    category: Annotated[list[str] | None, _many("--category", "Only this category.")] = None,
    tool: Annotated[list[str] | None, _many("--tool", "Only this tool, as CATEGORY/TOOL.")] = None,
    effect: Annotated[list[Effect] | None, _many("--effect", "Only APIs that do this to the world.")] = None,
    deprecated: Annotated[
        Literal["include", "exclude", "only"], typer.Option("--deprecated", help="What of deprecated APIs.")
    ] = "include",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show for every hit what each stage did to it, and why.")
    ] = False,
    definitions: Annotated[
        DefinitionFormat | None,
        typer.Option("--definitions", help="Print the hits as tool definitions for a language model."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Finds the APIs that a request needs."""
    text = sys.stdin.read() if request == "-" else request
    permitted = Filter(
        tenant=tenant,
        principals=frozenset(principal or ()),
        categories=frozenset(category or ()),
        tools=frozenset(tool or ()),
        effects=frozenset(effect or ()),
        deprecated=deprecated,
    )
    with Catalog.open(catalog) as opened:
        result = opened.search(text, k, filter=permitted, profile=profile, budget=budget)
    _print(result, definitions, explain, as_json)


def _print(result: SearchResult, format: DefinitionFormat | None, explain: bool, as_json: bool) -> None:  # noqa: A002
    if format is not None:
        print_json(result.definitions(format))
    elif as_json:
        print_json(result)
    else:
        print_hits(result, explain=explain)


def print_hits(result: SearchResult, *, explain: bool = False) -> None:
    """The hits as a table that a person understands, with what has to be said about them."""
    if result.abstained:
        because = f"({result.abstained_because}). The nearest:"
        OUT.print(f"[yellow]Nothing here is likely to do that[/] {because}", soft_wrap=True)
    print_table(_table(result))
    if explain:
        _print_reasons(result)
    for degradation in result.degraded:
        note(f"degraded: {degradation.stage}: {degradation.reason}")


def _table(result: SearchResult) -> Table:
    table = Table("", "tool", "api", "what it does", "effect", "sure")
    for hit in result.hits:
        name = hit.document.api + (" (deprecated)" if hit.document.deprecated else "")
        sure = "" if hit.probability is None else f"{hit.probability:.0%}"
        summary = clip(plain(hit.document.description, 300).partition(". ")[0], _SUMMARY)
        table.add_row(str(hit.rank), hit.document.tool, name, summary, hit.document.effect.value, sure)
    return table


def _print_reasons(result: SearchResult) -> None:
    told = explain_trace(result.trace, [hit.document.id for hit in result.hits])
    OUT.print(told.text(), markup=False, soft_wrap=True)
    OUT.print("time: " + ", ".join(f"{step} {spent:.1f} ms" for step, spent in result.timings.items()))
