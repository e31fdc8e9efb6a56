"""`kitpick adopt`: makes a catalog that was restored from a snapshot one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated

import msgspec
import typer

from kitpick.cli.console import note, print_json
from kitpick.cli.options import CatalogOption, JsonOption
from kitpick.errors import NotAdopted, NotAServer
from kitpick.settings import Settings
from kitpick_engines.opening import open_engine, without_secrets
from kitpick_engines.remote.adoption import Adoption
from kitpick_engines.remote.engine import RemoteEngine


class AdoptReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an adoption does, or would do."""

    catalog: str
    adopted: bool
    formerly: str = ""
    index: str = ""
    documents: dict[str, int] = {}
    unaliased: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def adopt(
    catalog: CatalogOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Adopt without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Makes a catalog that was restored from a snapshot one of its own.

    Binds the restored state to the name of the catalog and to the restored index, and sets the alias. Copies
    and deletes nothing, and touches nothing of the catalog that the snapshot was taken of. What it will do is
    shown and asked about.
    """
    url = catalog or Settings().catalog
    with closing(open_engine(url)) as engine:
        if not isinstance(engine, RemoteEngine):
            raise NotAServer(without_secrets(url))
        adoption = engine.planned_adoption()
        if adoption is None:
            _report(AdoptReport(catalog=engine.address.name, adopted=False), as_json)
            note(f"catalog {engine.address.name}: there is nothing to adopt, its state matches its indexes")
            return
        for line in _lines(adoption):
            note(line)
        if not dry_run:
            if not yes:
                _ask(adoption.name)
            engine.adopt(adoption)
        _report(_said(adoption, adopted=not dry_run), as_json)


def _lines(adoption: Adoption) -> Iterator[str]:
    name, former, index = adoption.name, adoption.formerly, adoption.index
    whose = f"the catalog {former} by another name" if former != name else "the same catalog, restored"
    yield f"catalog {name}: its state is that of {whose}"
    listed = ", ".join(f"{source} {count:,}" for source, count in adoption.documents.items()) or "none"
    yield f"{index} becomes its live index, with {sum(adoption.documents.values()):,} documents ({listed})"
    for alias in adoption.unaliased:
        yield f"the alias {alias} does not show {index} any more: it is the name of the former catalog"
    for alias in adoption.aliases:
        yield f"the alias {alias} shows {index}, and stays: remove it if it is meant for the former catalog"
    for left in adoption.left:
        yield f"{left} is not taken over, and not deleted"


def _ask(name: str) -> None:
    """Goes on only if the user wants it.

    Raises:
        NotAdopted: the user does not, or there is nobody to ask.
    """
    try:
        agreed = typer.confirm(f"Adopt it as the catalog {name}?", err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise NotAdopted


def _said(adoption: Adoption, *, adopted: bool) -> AdoptReport:
    return AdoptReport(
        catalog=adoption.name,
        adopted=adopted,
        formerly=adoption.formerly,
        index=adoption.index,
        documents=adoption.documents,
        unaliased=adoption.unaliased,
        aliases=adoption.aliases,
        left=adoption.left,
    )


def _report(report: AdoptReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
