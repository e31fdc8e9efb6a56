"""`kitpick feedback`, `kitpick forget` and `kitpick replay`: learning from what became of tools."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from kitpick.cli.catalogs import existing_catalog
from kitpick.cli.console import note, print_json, print_table
from kitpick.cli.options import CatalogOption, JsonOption, PrincipalOption, ProfileOption, TenantOption
from kitpick.replay import Replay, replay_choices
from kitpick_engines.contract import Filter

_SHOWN = 10


def _many(name: str, text: str) -> object:
    return typer.Option(name, help=f"{text} Repeatable.")


def feedback(
    request: Annotated[
        str,
        typer.Argument(
            help="Id of an answer, as `kitpick search --json` shows it, or what was wanted, in words.",
            metavar="ANSWER",
        ),
    ],
    chosen: Annotated[list[str] | None, _many("--chosen", "Id of an API that did the job.")] = None,
    failed: Annotated[
        list[str] | None, _many("--failed", "Id of an API that was called and did not do it.")
    ] = None,
    not_needed: Annotated[
        list[str] | None, _many("--not-needed", "Id of an API that had no part in it.")
    ] = None,
    client: Annotated[
        str, typer.Option("--client", help="Who says so; two different ones have to agree.")
    ] = "",
    catalog: CatalogOption = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tells the catalog what became of tools that it found, so that it learns from use.

    Answers have ids across commands where KITPICK_ANSWERS names a file that remembers them.
    """
    permitted = Filter(tenant=tenant, principals=frozenset(principal or ()))
    with existing_catalog(catalog) as opened:
        count = opened.feedback(
            request,
            chosen or (),
            failed=failed or (),
            not_needed=not_needed or (),
            client=client,
            filter=permitted,
        )
    if as_json:
        print_json({"remembered": count})
    else:
        note(f"{count} remembered")


def forget(
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Of this tenant alone. Default: of all.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option("--older-than", min=0, metavar="DAYS", help="Only what is older.")
    ] = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Removes answers, and what clients said about them; sample requests of the operator stay."""
    with existing_catalog(catalog) as opened:
        gone = opened.forget(tenant, older_than_days=older_than)
    if as_json:
        print_json(gone)
    else:
        note(f"{gone.answers} answers and {gone.choices} choices are forgotten")


def replay(
    catalog: CatalogOption = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Choices of this tenant alone. Default: of all.")
    ] = None,
    profile: ProfileOption = None,
    most: Annotated[int, typer.Option("--most", min=1, help="The latest choices, so many at most.")] = 500,
    bias: Annotated[
        float,
        typer.Option("--bias", min=0, max=3, help="How much less is looked at further down: rank^-BIAS."),
    ] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Shows offline what choices would have changed.

    A choice counts for later ones, never for itself. Needs answers that were remembered in the file of
    KITPICK_ANSWERS.
    """
    with existing_catalog(catalog) as opened:
        found = replay_choices(opened, tenant=tenant, most=most, profile=profile, bias=bias)
    print_json(found) if as_json else _print(found)


def _print(found: Replay) -> None:
    table = Table("", "without choices", "with choices", "gain")
    for name, means in (("every choice alike", found.plain), ("against position bias", found.weighed)):
        cells = f"{means.without:.3f}", f"{means.with_choices:.3f}", f"{means.gain:+.3f}"
        table.add_row(f"MRR, {name}", *cells)
    print_table(table)
    note(
        f"{found.choices} choices, {found.effective:.1f} effective; {found.risen} would have risen, "
        f"{found.fallen} fallen"
    )
    for item in found.changed[:_SHOWN]:
        note(f"{item.api}: {_place(item.without)} → {_place(item.with_choices)} for {item.request[:60]!r}")
    for caution in found.cautions:
        note(caution)


def _place(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank}"
