"""`kitpick adopt`: makes a catalog that was restored from a snapshot one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated

import typer

from kitpick.cli.console import note, print_json, require_agreement
from kitpick.cli.options import CatalogOption, JsonOption
from kitpick.errors import NotAServer
from kitpick.settings import Settings
from kitpick_engines.opening import open_engine, without_secrets
from kitpick_engines.remote.adoption import Adoption
from kitpick_engines.remote.engine import RemoteEngine

_NOTHING = {"formerly": "", "index": "", "documents": {}, "unaliased": (), "aliases": (), "left": ()}


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
            if as_json:
                print_json({"catalog": engine.address.name, "adopted": False, **_NOTHING})
            note(f"catalog {engine.address.name}: there is nothing to adopt, its state matches its indexes")
            return
        for line in _lines(adoption):
            note(line)
        if not dry_run:
            if not yes:
                otherwise = "nothing was changed; --yes adopts without asking"
                require_agreement(f"Adopt it as the catalog {adoption.name}?", otherwise)
            engine.adopt(adoption)
        if as_json:
            told = {name: getattr(adoption, name) for name in _NOTHING}
            print_json({"catalog": adoption.name, "adopted": not dry_run, **told})


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
