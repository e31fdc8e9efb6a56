"""Files and servers of a catalog, which callers of a service must not learn."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kitpick.catalog import Catalog
from kitpick_foundation.places import HiddenPlaces


def places_of(catalog: Catalog, more: Iterable[Path] = ()) -> HiddenPlaces:
    """The files and the server of a catalog, of its answers and of its samples; and more files."""
    kind, separator, rest = catalog.engine.url.partition("://")
    votes, settings = catalog.intents.votes, catalog.settings
    stores = [store.path for store in (votes.samples, votes.written) if store is not None]
    files = [*more, *stores, settings.answers, settings.trial, settings.embedding_cache]
    if not separator:
        return HiddenPlaces([kind.partition(":")[2] or kind, *files])
    hosts = rest.rpartition("@")[2].partition("/")[0].split(",")
    scheme = "https" if kind.endswith("+https") else "http"
    return HiddenPlaces(files, [*(f"{scheme}://{host}" for host in hosts), *hosts])
