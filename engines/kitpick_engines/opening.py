"""Opens the engine of a catalog URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from kitpick_engines.contract import Engine
from kitpick_engines.errors import UnknownEngine
from kitpick_engines.remote.address import FORM, Address, is_remote, parse_address

_FORMS = f"sqlite:PATH, sqlite:///ABSOLUTE/PATH, a path that ends in .db, {FORM}"


def open_engine(url: str) -> Engine:
    """The engine of a catalog: `sqlite:PATH`, a path ending in `.db`, or `opensearch://HOST/NAME`.

    This sends no request to a search server. `remote/address.py` describes the URLs of servers.

    Raises:
        UnknownEngine: no engine serves the URL.
        EngineUnavailable: the catalog exists and cannot be opened.
        MissingExtra: the client library of the server is not installed.
    """
    if is_remote(url):
        return _open_remote(parse_address(url))
    path = sqlite_path(url)
    if path is not None and path.name == ":memory:":
        raise UnknownEngine(
            f"{url!r}: a catalog is a file, none is kept in memory: name one in a temporary folder"
        )
    if path is None:
        raise UnknownEngine(f"no engine serves {without_secrets(url)!r}; known are {_FORMS}")
    from kitpick_engines.sqlite import SqliteEngine

    return SqliteEngine(path)


def _open_remote(address: Address) -> Engine:
    if address.kind == "opensearch":
        from kitpick_engines.opensearch import open_opensearch

        return open_opensearch(address)
    from kitpick_engines.elasticsearch import open_elasticsearch

    return open_elasticsearch(address)


def sqlite_path(url: str) -> Path | None:
    """The file that a catalog's URL names; None where it names none."""
    scheme, colon, rest = url.partition(":")
    if colon and scheme.lower() == "sqlite":
        path = unquote(rest[2:]) if rest.startswith("///") else rest
        return Path(path).expanduser() if path and "\0" not in path and not path.startswith("//") else None
    bare = url.endswith(".db") and "://" not in url and "\0" not in url
    return Path(url).expanduser() if bare else None


def without_secrets(url: str) -> str:
    """The URL without user and password, which stand before an @."""
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.rpartition("@")[2][:200]
