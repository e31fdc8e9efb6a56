"""The indexes of a catalog: creates, swaps and deletes them, and sets the alias that others search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from kitpick_engines.contract import IndexSchema
from kitpick_engines.errors import EngineError, NameTaken
from kitpick_engines.remote.address import Address
from kitpick_engines.remote.mapping import index_settings, mapping
from kitpick_engines.remote.ownership import strangers
from kitpick_engines.remote.queries import committed
from kitpick_engines.remote.server import Json, RequestRefused, SearchServer, ServerDialect
from kitpick_engines.remote.state import CatalogState, IndexState, create_index, is_named_for


def body(address: Address, dialect: ServerDialect, schema: IndexSchema) -> Json:
    """Settings and mapping of a new index. What the URL leaves open, the server's index template decides."""
    settings: Json = index_settings() | dialect.vector_settings()
    if address.settings.shards:
        settings["number_of_shards"] = address.settings.shards
    if address.settings.replicas >= 0:
        settings["number_of_replicas"] = address.settings.replicas
    described = mapping(dialect.vector_field(schema.dimensions), schema.model)
    return {"settings": {"index": settings}, "mappings": described}


def make_index(server: SearchServer, name: str, described: Json, known: bool) -> None:
    """Creates an index unless it is there, and names its model again where somebody took that away.

    Raises:
        NameTaken: it is there, is not `known` to be the catalog's, and is not empty.
    """
    if server.find("GET", f"/{name}/_settings/index.uuid") is None:
        create_index(server, name, described)
        return
    if not known:
        _refuse_full(server, name)
    with suppress(EngineError):  # who may not look or change it learns that from the doctor
        said = described["mappings"]["_meta"]
        if server.call("GET", f"/{name}/_mapping")[name]["mappings"].get("_meta") != said:
            server.call("PUT", f"/{name}/_mapping", {"_meta": said})


def _refuse_full(server: SearchServer, name: str) -> None:
    """What a killed run made holds nothing yet; anything else was restored or written by somebody."""
    server.call("POST", f"/{name}/_refresh")
    count = server.call("GET", f"/{name}/_count")["count"]
    if count:
        raise NameTaken(
            f"{name} is there already with {count:,} documents, and this catalog did not make it. If it was "
            f"restored from a snapshot, restore its NAME-state beside it, then `kitpick adopt`; "
            f"else delete or rename it"
        )


def refuse_taken(server: SearchServer, name: str) -> None:
    """Refuses a new catalog whose name is an alias already: whoever uses that would find its documents.

    Raises:
        NameTaken: it is.
    """
    shown = server.find("GET", f"/_alias/{name}") or {}
    for index in shown:
        if not is_named_for(index, name):
            raise NameTaken(f"{name} is an alias of {index} already: give the catalog another name")


def point_alias(server: SearchServer, address: Address, state: CatalogState) -> None:
    """Lets the alias show the last committed state of the live index, in one change.

    Our own searches do not use it: it is for everybody else's. What operators gave the index that was live
    before goes over: `_CARRIED` settings, and in the same change other aliases with filters and routing.
    An index that another catalog or somebody else made is left as it is. Nobody writes by the alias, and a
    rollover, which would let it show an empty index, is refused: it has no index to write to.
    """
    name = address.name
    now = server.find("GET", f"/_alias/{name}") or {}
    shown: Json = {"bool": {"filter": committed(state.index(state.live))}}
    before = [old for old in now if old != state.live and old not in strangers(now, state)]
    ours: Json = {"filter": shown, "is_write_index": False}
    if not before and now.get(state.live, _UNNAMED)["aliases"].get(name) == ours:
        return
    actions: list[Json] = []
    for old in before:
        _carry_settings(server, address, old, state.live)
        actions += _moved(server, name, old, state.live)
    actions.append({"add": {"index": state.live, "alias": name, **ours}})
    try:
        server.call("POST", "/_aliases", {"actions": actions})
    except RequestRefused as error:
        if error.status != 404:  # a faster writer swapped meanwhile, and points the alias itself
            raise


_UNNAMED: Json = {"aliases": {}}
_CARRIED = (
    "search.default_pipeline",
    "number_of_replicas",
    "auto_expand_replicas",
    "max_result_window",
    "requests.cache.enable",
)
"""Settings that an operator gives an index while it is live."""
_REPLICAS = frozenset({"number_of_replicas", "auto_expand_replicas"})


def _carry_settings(server: SearchServer, address: Address, old: str, new: str) -> None:
    wanted = ",".join(f"index.{name}" for name in _CARRIED)
    before, after = (_flat(server, index, wanted) for index in (old, new))
    chosen = address.settings.replicas >= 0
    changes = {
        name: value
        for name, value in before.items()
        if after.get(name) != value and not (chosen and name.removeprefix("index.") in _REPLICAS)
    }
    if changes:
        server.call("PUT", f"/{new}/_settings", changes)


def _flat(server: SearchServer, index: str, wanted: str) -> Json:
    """Settings by their whole name; none of an index that is gone."""
    found = server.find("GET", f"/{index}/_settings/{wanted}?flat_settings=true") or {}
    return next(iter(found.values()))["settings"] if found else {}


def _moved(server: SearchServer, name: str, old: str, new: str) -> list[Json]:
    """Actions that give all aliases of an index to another one, except ours, which is only taken away."""
    found = server.find("GET", f"/{old}/_alias") or {old: {"aliases": {name: {}}}}
    actions: list[Json] = []
    for alias, described in found[old]["aliases"].items():
        actions.append({"remove": {"index": old, "alias": alias}})
        if alias != name:
            actions.append({"add": {"index": new, "alias": alias, **described}})
    return actions


def with_schema(state: CatalogState, name: str, schema: IndexSchema) -> CatalogState:
    """A state in which there is an index of this schema. It need not exist on the server yet."""
    if any(each.schema == schema for each in state.indexes.values()):
        return state
    number = state.number + 1
    new = f"{name}-apis-{schema.fingerprint}-{number}"
    return replace(state.with_index(new, IndexState(schema), number=number), name=name)


_NAME = re.compile(r".+-apis-([0-9a-f]{12})-\d+")


def is_of_schema(index: str, schema: IndexSchema) -> bool:
    """Whether an index was built for this schema, by its name."""
    found = _NAME.fullmatch(index)
    return found is not None and found[1] == schema.fingerprint


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
    kept = tuple(name for name in state.dropped if name not in deleted)
    uuids = {name: uuid for name, uuid in state.uuids.items() if name in kept or name in state.indexes}
    return replace(state, dropped=kept, uuids=uuids)
