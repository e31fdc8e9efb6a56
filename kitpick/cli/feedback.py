"""`kitpick feedback` and `kitpick forget`: the catalog learns from how tools did, or forgets it."""

from __future__ import annotations

from typing import Annotated

import typer

from kitpick.cli.catalogs import EmptyRequest, existing_catalog
from kitpick.cli.console import note, print_json
from kitpick.cli.options import (
    CatalogOption,
    JsonOption,
    PrincipalOption,
    TenantOption,
    filter_of,
    repeatable,
)
from kitpick_foundation.errors import KitpickError
from kitpick_foundation.visible import is_blank


class NothingRemembered(KitpickError):
    """Feedback on APIs that are gone, or of a catalog without a place for it."""

    def __init__(self) -> None:
        super().__init__(
            "nothing was remembered: what the answer showed is gone, or the catalog has no file for choices: "
            "KITPICK_INTENTS names one"
        )


def feedback(
    request: Annotated[
        str,
        typer.Argument(
            help="Id of an answer, as `kitpick search --json` shows it, or what was wanted, in words.",
            metavar="ANSWER",
        ),
    ],
    chosen: Annotated[list[str] | None, repeatable("--chosen", "Id of an API that did the job.")] = None,
    failed: Annotated[
        list[str] | None, repeatable("--failed", "Id of an API that was called and did not do it.")
    ] = None,
    not_needed: Annotated[
        list[str] | None, repeatable("--not-needed", "Id of an API that had no part in it.")
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
    permitted = filter_of(tenant, principal)
    named = (*(chosen or ()), *(failed or ()), *(not_needed or ()))
    if not named:
        raise typer.BadParameter(
            "say what became of which API: --chosen, --failed or --not-needed with its id"
        )
    if is_blank(request):
        raise EmptyRequest
    with existing_catalog(catalog) as opened:
        count = opened.feedback(
            request,
            chosen or (),
            failed=failed or (),
            not_needed=not_needed or (),
            client=client,
            filter=permitted,
        )
        if not count:
            raise NothingRemembered
        first = opened.confirmed(request, filter=permitted)
    if as_json:
        print_json({"remembered": count, "first": first})
        return
    note(f"{count} remembered")
    for api, why in first.items():
        note(f"{api} comes first: {why}")


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
