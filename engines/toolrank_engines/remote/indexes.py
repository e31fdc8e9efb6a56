"""The indexes of a catalog: made, swapped and deleted, and the alias that others search them by."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolrank_engines.contract import IndexSchema
from toolrank_engines.remote.address import Address
from toolrank_engines.remote.dialect import Dialect
from toolrank_engines.remote.mapping import index_settings, mapping
from toolrank_engines.remote.queries import committed
from toolrank_engines.remote.server import Json, Refused, Server
from toolrank_engines.remote.state import CatalogState, IndexState, create_index


def body(address: Address, dialect: Dialect, schema: IndexSchema) -> Json:
    """Settings and mapping of a new index. What the URL leaves open, the server's index template decides."""
    settings: Json = index_settings() | dialect.vector_settings()
    if address.settings.shards:
        settings["number_of_shards"] = address.settings.shards
    if address.settings.replicas >= 0:
        settings["number_of_replicas"] = address.settings.replicas
    described = mapping(dialect.vector_field(schema.dimensions))
    return {"settings": {"index": settings}, "mappings": described}


def make(server: Server, name: str, described: Json) -> None:
    """Creates an index unless it is there."""
    if server.find("GET", f"/{name}/_settings/index.uuid") is None:
        create_index(server, name, described)


def delete(server: Server, names: Sequence[str]) -> None:
    """Deletes indexes; those that are gone already are fine."""
    for name in names:
        server.find("DELETE", f"/{name}")


def point_alias(server: Server, name: str, state: CatalogState) -> None:
    """Lets the alias show the last committed state of the live index, in one change.

    Our own searches do not use it: it is for everybody else's.
    """
    now = server.find("GET", f"/_alias/{name}") or {}
    shown: Json = {"bool": {"filter": committed(state.index(state.live))}}
    if [*now] == [state.live] and now[state.live]["aliases"][name].get("filter") == shown:
        return
    actions: list[Json] = [{"remove": {"index": old, "alias": name}} for old in now if old != state.live]
    actions.append({"add": {"index": state.live, "alias": name, "filter": shown}})
    try:
        server.call("POST", "/_aliases", {"actions": actions})
    except Refused as error:
        if error.status != 404:  # a faster writer swapped meanwhile, and points the alias itself
            raise


def with_schema(state: CatalogState, name: str, schema: IndexSchema) -> CatalogState:
    """A state in which there is an index of this schema. It need not exist on the server yet."""
    if any(each.schema == schema for each in state.indexes.values()):
        return state
    number = state.number + 1
    new = f"{name}-apis-{schema.fingerprint}-{number}"
    return state.with_index(new, IndexState(schema), number=number)


def with_live(state: CatalogState, index: str) -> CatalogState:
    """A state in which `index` is live, unless another one is: the very first index."""
    return state if state.live else replace(state, live=index)


def of_schema(state: CatalogState, schema: IndexSchema) -> str:
    """Name of the index of this schema in a state that has one: the live one before others."""
    names = sorted(state.indexes, key=lambda name: name != state.live)
    return next(name for name in names if state.indexes[name].schema == schema)


def swapped(state: CatalogState, index: str) -> CatalogState:
    """A state in which `index` is live and the only one.

    Raises:
        UnknownIndex: there is no index of this name.
    """
    chosen = state.index(index)
    others = tuple(name for name in state.indexes if name != index)
    return replace(state, live=index, indexes={index: chosen}, dropped=(*state.dropped, *others))


def without_dropped(state: CatalogState, deleted: Sequence[str]) -> CatalogState:
    """A state that does not ask for these deletions any more."""
    return replace(state, dropped=tuple(name for name in state.dropped if name not in deleted))
