"""From the URL of a catalog to the engine that serves it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from toolrank_engines.contract import Engine
from toolrank_engines.errors import UnknownEngine

_FORMS = "sqlite:PATH, sqlite:///ABSOLUTE/PATH, or a path that ends in .db"


def open_engine(url: str) -> Engine:
    """The engine of a catalog: `sqlite:PATH`, `sqlite:///ABSOLUTE/PATH` or a bare path ending in `.db`.

    Raises:
        UnknownEngine: no engine serves the URL.
        EngineUnavailable: the catalog exists and cannot be opened.
    """
    path = _sqlite_path(url)
    if path is None:
        raise UnknownEngine(f"no engine serves {_without_secrets(url)!r}; known are {_FORMS}")
    from toolrank_engines.sqlite import SqliteEngine

    return SqliteEngine(path)


def _sqlite_path(url: str) -> Path | None:
    scheme, colon, rest = url.partition(":")
    if colon and scheme.lower() == "sqlite":
        path = unquote(rest[2:]) if rest.startswith("///") else rest
        return Path(path).expanduser() if path and "\0" not in path and not path.startswith("//") else None
    bare = url.endswith(".db") and "://" not in url and "\0" not in url
    return Path(url).expanduser() if bare else None


def _without_secrets(url: str) -> str:
    """Passwords stand before an @."""
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.rpartition("@")[2][:200]
