"""Opens catalogs for commands, and checks names in them: an unknown name is refused with a suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_engines.sqlite import SqliteEngine
from kitpick_foundation.errors import LOOKED_AT, KitpickError, suggestion
from kitpick_rescorers.errors import EmptyCatalog


class EmptyRequest(KitpickError):
    """A request without a word."""

    def __init__(self) -> None:
        super().__init__("the request is empty: say in words what needs to be done")


class NoCatalog(KitpickError):
    """The catalog does not exist; `others` are names of those beside it."""

    def __init__(self, path: Path, others: Iterable[str]) -> None:
        hint = suggestion(path.name, others)
        cure = "`kitpick ingest SOURCE` makes one"
        super().__init__(f"sqlite:{path}: there is no such catalog: {f'{hint} ({cure})' if hint else cure}")


class UnknownName(KitpickError):
    """A category or tool without a visible API."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], also: Mapping[str, str] | None = None
    ) -> None:
        named = [each for each in known if each]
        hint = suggestion(name, named, also) or f"none that this tenant and principal may see has a {kind}"
        super().__init__(f"no API of the catalog has the {kind} {name[:200]!r}: {hint}")


@contextmanager
def existing_catalog(url: str | None) -> Iterator[Catalog]:
    """An existing catalog, by default that of the settings.

    Raises:
        NoCatalog: the catalog turned out to be empty, and not even its file exists.
        UnknownEngine, EngineUnavailable: as `Catalog.open`.
    """
    with Catalog.open(url) as catalog:
        try:
            yield catalog
        except EmptyCatalog:
            if (absent := absence_of(catalog)) is not None:
                raise absent from None
            raise


def absence_of(catalog: Catalog) -> NoCatalog | None:
    """The error for a missing catalog, with the catalogs beside it; None if it exists."""
    path = Path(catalog.engine.url.removeprefix("sqlite:"))
    if not isinstance(catalog.engine, SqliteEngine) or path.exists():
        return None
    return NoCatalog(path, _catalogs_beside(path))


def check_names(catalog: Catalog, wanted: Filter) -> None:
    """Refuses categories and tools without an API that this tenant and these principals may see.

    Raises:
        EmptyCatalog: nothing was ingested yet.
        UnknownName: the first such name, with the nearest that there are.
    """
    if not (wanted.categories or wanted.tools):
        return
    anyone = Filter(tenant=wanted.tenant, principals=wanted.principals)
    for name in sorted(wanted.categories):
        if not _any_visible(catalog, replace(anyone, categories=frozenset({name}))):
            categories = sorted({item.category for item in catalog.documents(anyone, LOOKED_AT)})
            raise UnknownName("category", name, categories)
    for name in sorted(wanted.tools):
        if not _any_visible(catalog, replace(anyone, tools=frozenset({name}))):
            keys = {item.tool: item.tool_key for item in catalog.documents(anyone, LOOKED_AT)}
            raise UnknownName("tool", name, sorted(keys.values()), keys)


def _any_visible(catalog: Catalog, wanted: Filter) -> bool:
    _, schema = catalog.live()
    anywhere = np.full(schema.dimensions, schema.dimensions**-0.5, np.float32)
    return bool(catalog.engine.neighbours(anywhere, 1, wanted))


def _catalogs_beside(path: Path) -> list[str]:
    """Names of the other catalogs in the folder; a file like `x.embeddings.db` is no catalog."""
    return sorted(file.name for file in path.parent.glob("*.db") if "." not in file.stem)
