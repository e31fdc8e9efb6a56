"""Catalogs on a real search server, each under a name of its own, gone when the test ends."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import RequestRefused

MakeCatalog = Callable[..., RemoteEngine]


def catalog_url(server: str, kind: str, **options: object) -> str:
    """URL of a new catalog on the server at an HTTP address."""
    chosen = {"vectors": "exact", "replicas": 0, **options}
    query = "&".join(f"{name}={value}" for name, value in chosen.items())
    return f"{kind}://{server.partition('://')[2]}/t{uuid.uuid4().hex[:12]}?{query}"


@contextmanager
def catalogs_on(server: str, kind: str) -> Iterator[MakeCatalog]:
    """A function that opens a new, empty catalog; what it opened is deleted and closed at the end."""
    opened: list[RemoteEngine] = []

    def make(url: str | None = None, **options: object) -> RemoteEngine:
        engine = open_engine(url or catalog_url(server, kind, **options))
        assert isinstance(engine, RemoteEngine)
        opened.append(engine)
        return engine

    try:
        yield make
    finally:
        for engine in opened:
            drop(engine)
            engine.close()


def drop(engine: RemoteEngine) -> None:
    """Deletes everything of a catalog."""
    name = engine.address.name
    with suppress(RequestRefused):
        found = engine.server.call("GET", f"/{name}-*/_settings/index.uuid?expand_wildcards=all")
        if found:
            engine.server.call("DELETE", f"/{','.join(found)}")
