"""Makes what was restored from a snapshot a catalog of its own.

Only the state and aliases of the restored copy change. No document is copied or deleted, and nothing of the
catalog that the snapshot was taken of is touched.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from kitpick_engines.errors import ForeignState, NotAdoptable
from kitpick_engines.remote.ownership import bound, uuids_of, verify
from kitpick_engines.remote.queries import BY_SOURCE, by_source, committed
from kitpick_engines.remote.server import Json, SearchServer
from kitpick_engines.remote.state import (
    CatalogState,
    IndexState,
    StateStore,
    check_name,
    state_index,
)

_MOST_LATER = 200
"""Sessions that an index may be ahead of its state: those of a snapshot's own minutes."""
_INDEX = re.compile(r"(.+)(-apis-[0-9a-f]{12}-(\d+))")


class Adoption(msgspec.Struct, frozen=True):
    """What adopting a restored catalog does."""

    name: str
    """Name of the catalog."""
    formerly: str
    """Name of the catalog that the snapshot was taken of; it may be the same."""
    index: str
    """The restored index that becomes live."""
    documents: dict[str, int]
    """Visible documents in it, by source."""
    before: CatalogState
    after: CatalogState
    unaliased: tuple[str, ...]
    """Names of the former catalog that stop showing the restored index."""
    aliases: tuple[str, ...]
    """Other aliases that show the restored index, and stay."""
    left: tuple[str, ...]
    """Indexes that the state names and this catalog does not take over; none of them is deleted."""


def planned(server: SearchServer, store: StateStore) -> Adoption | None:
    """What adopting the catalog would do; None where its state matches already.

    Raises:
        NotAdoptable: there is no state, or what it names was not restored or is of another time.
    """
    found = store.read()
    if found is None:
        raise NotAdoptable(f"there is no {store.index}: restore it too, renamed as the indexes beside it")
    if _matches(server, store.name, found.state):
        return None
    return _planned(server, store.name, found.state)


def carry_out(server: SearchServer, store: StateStore, adoption: Adoption) -> CatalogState:
    """Takes the former catalog's name off the restored index, and writes the new state.

    In this order: once the state matches, nobody plans what is still to be done.

    Raises:
        NotAdoptable: the state was changed since this was planned.
    """
    changed = NotAdoptable(f"{store.index} was changed meanwhile; nothing was adopted: try again")
    found = store.read()
    if found is None or found.state != adoption.before:
        raise changed
    removed = [{"remove": {"index": adoption.index, "alias": alias}} for alias in adoption.unaliased]
    if removed:
        server.call("POST", "/_aliases", {"actions": removed})
    if not store.replace(found, adoption.after):
        raise changed
    return adoption.after


def _matches(server: SearchServer, name: str, state: CatalogState) -> bool:
    try:
        verify(server, name, check_name(state, name))
    except ForeignState:
        return False
    return state.live == "" or _last_session(server, state.live) <= state.index(state.live).begun


def _planned(server: SearchServer, name: str, state: CatalogState) -> Adoption:
    former, index = _restored(name, state)
    found = uuids_of(server, (state_index(name), index))
    if index not in found:
        raise NotAdoptable(f"{index} is not there, which {state_index(name)} names: restore it too")
    now = _resumed(server, index, state.index(state.live))
    _check_model(server, index, now)
    bare = CatalogState(index, {index: now}, number=_last_number(server, name, state), beat=state.beat + 1)
    aliases = _aliases(server, index)
    return Adoption(
        name,
        former,
        index,
        _documents(server, index, now),
        state,
        bound(bare, name, found),
        tuple(alias for alias in aliases if alias == former != name),
        tuple(alias for alias in aliases if alias not in (former, name)),
        tuple(other for other in (*state.indexes, *state.dropped) if other != index),
    )


def _restored(name: str, state: CatalogState) -> tuple[str, str]:
    """Name of the former catalog, and of the index here that was its live one."""
    described = _INDEX.fullmatch(state.live)
    if described is None:
        raise NotAdoptable(f"{state_index(name)} names no live index: delete it, and ingest every source")
    return state.name or described[1], f"{name}{described[2]}"


def _resumed(server: SearchServer, index: str, state: IndexState) -> IndexState:
    """The state of the index with all that its last commit did not show counted as aborted."""
    begun = max(state.begun, _last_session(server, index))
    if begun - state.generation > _MOST_LATER:
        raise NotAdoptable(
            f"{index} is {begun - state.generation:,} sessions ahead of its state: "
            "restore both from the same snapshot"
        )
    unseen = {*state.hidden, *range(state.generation + 1, begun + 1)}
    return replace(state, begun=begun, aborted=tuple(sorted(unseen)), open=())


def _last_session(server: SearchServer, index: str) -> int:
    """Number of the last session that wrote into an index."""
    fields = ("born", "died")
    body = {"size": 0, "aggs": {field: {"max": {"field": field}} for field in fields}}
    found = server.find("POST", f"/{index}/_search", body)
    values = (found["aggregations"][field]["value"] for field in fields) if found else ()
    return int(max((value for value in values if value is not None), default=0))


def _check_model(server: SearchServer, index: str, state: IndexState) -> None:
    (described,) = server.call("GET", f"/{index}/_mapping").values()
    said = described["mappings"].get("_meta", {}).get("kitpick", {}).get("vector_model")
    if said not in (None, state.schema.model):
        raise NotAdoptable(
            f"the vectors of {index} are from {said}, its state says {state.schema.model}: "
            "restore both from the same snapshot"
        )


def _documents(server: SearchServer, index: str, state: IndexState) -> dict[str, int]:
    shown: Json = {"bool": {"filter": committed(state)}}
    body = {"size": 0, "query": shown, "aggs": {"sources": BY_SOURCE}}
    return by_source(server.call("POST", f"/{index}/_search", body)["aggregations"])


def _aliases(server: SearchServer, index: str) -> list[str]:
    return sorted(server.call("GET", f"/{index}/_alias")[index]["aliases"])


def _last_number(server: SearchServer, name: str, state: CatalogState) -> int:
    """The largest number of an index with the catalog's name, so that the next one gets another."""
    path = f"/{name}-apis-*/_settings/index.uuid?expand_wildcards=all"
    numbers = (_INDEX.fullmatch(each) for each in server.find("GET", path) or {})
    return max(state.number, *(int(each[3]) for each in numbers if each), 0)
