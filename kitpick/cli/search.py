"""`kitpick search`: the APIs that a request needs."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from msgspec.structs import replace
from rich.markup import escape
from rich.table import Table

from kitpick.cli.catalogs import EmptyRequest, check_names, existing_catalog
from kitpick.cli.console import OUT, note, print_json, print_table
from kitpick.cli.options import (
    CatalogOption,
    CategoryOption,
    EffectOption,
    JsonOption,
    PrincipalOption,
    ProfileOption,
    TenantOption,
    ToolOption,
    filter_of,
)
from kitpick.result import Depth, SearchResult, tenths
from kitpick_engines.text import plain
from kitpick_foundation.visible import is_blank
from kitpick_ingest.definitions import DefinitionFormat
from kitpick_ingest.prose import clip
from kitpick_rescorers.explain import explain as explain_trace

_SUMMARY = 48
"""Characters of a description in the table: with the other columns it fits a wide terminal."""
_MOST_DIGITS = 10


def parse_depth(text: str) -> Depth:
    """A number of hits, or `auto`."""
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS):
        said = f"{text[:_MOST_DIGITS]!r} is neither a number of at least 0 nor auto"
        raise typer.BadParameter(said, param_hint="-k")
    return int(text)


def search(
    request: Annotated[
        str,
        typer.Argument(
            help="What needs to be done, in words; - reads it from standard input.", metavar="REQUEST"
        ),
    ],
    catalog: CatalogOption = None,
    k: Annotated[
        str, typer.Option("-k", metavar="K", help="Number of hits, at most; auto: as many as are needed.")
    ] = "5",
    profile: ProfileOption = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=0, help="Tokens that the definitions of all hits may take together."),
    ] = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    category: CategoryOption = None,
    tool: ToolOption = None,
    effect: EffectOption = None,
    deprecated: Annotated[
        Literal["include", "exclude", "only"],
        typer.Option("--deprecated", help="Include deprecated APIs, exclude them, or find only them."),
    ] = "include",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Also show what each stage did, and why. With --json: add trace and timings."
        ),
    ] = False,
    definitions: Annotated[
        DefinitionFormat | None,
        typer.Option("--definitions", help="Print the hits as tool definitions for a language model."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Finds the APIs that a request needs."""
    depth = parse_depth(k)
    text = sys.stdin.read() if request == "-" else request
    permitted = filter_of(tenant, principal, category, tool, effect, deprecated)
    if is_blank(text):
        raise EmptyRequest
    with existing_catalog(catalog) as opened:
        check_names(opened, permitted)
        result = opened.search(text, depth, filter=permitted, profile=profile, budget=budget)
        behind = opened.intents.behind(text, permitted) if explain and not as_json else {}
    _print(result, definitions, explain, as_json)
    for hit in result.hits if definitions is None else ():
        if hit.id in behind and behind[hit.id].words:
            note(f"{hit.id}: {behind[hit.id].words}, for requests like this")


def _print(result: SearchResult, format: DefinitionFormat | None, explain: bool, as_json: bool) -> None:  # noqa: A002
    if format is not None:
        print_json(result.definitions(format))
    elif as_json:
        # Of the work behind the hits there is twenty times as much as of the hits.
        print_json(result if explain else replace(result, trace=(), timings={}))
    else:
        print_hits(result, explain=explain)


def print_hits(result: SearchResult, *, explain: bool = False) -> None:
    """Prints the hits as a table, with remarks."""
    if why := result.unlikely:
        because = f"({why}). The nearest:"
        OUT.print(f"[yellow]Nothing here is likely to do that[/] {because}", soft_wrap=True)
    for sentence in result.unmatched:
        OUT.print(f"[yellow]Nothing found for:[/] {escape(plain(sentence, 300))}", soft_wrap=True)
    print_table(_table(result))
    if explain:
        _print_reasons(result)
    for degradation in result.degraded:
        note(f"degraded: {degradation.stage}: {degradation.reason}")


def _table(result: SearchResult) -> Table:
    table = Table("", "tool", "api", "what it does", "effect", "right in about")
    for hit in result.hits:
        name = hit.document.api + (" (deprecated)" if hit.document.deprecated else "")
        sure = "" if hit.probability is None else f"{tenths(hit.probability)} of 10 ({hit.probability:.0%})"
        summary = clip(plain(hit.document.description, 300).partition(". ")[0], _SUMMARY)
        table.add_row(str(hit.rank), hit.document.tool, name, summary, hit.document.effect.value, sure)
    return table


def _print_reasons(result: SearchResult) -> None:
    explanation = explain_trace(result.trace, [hit.document.id for hit in result.hits])
    OUT.print(explanation.text(), markup=False, soft_wrap=True)
    times = ", ".join(f"{step} {spent:.1f} ms" for step, spent in result.timings.items())
    OUT.print(f"time: {times}", soft_wrap=True)
