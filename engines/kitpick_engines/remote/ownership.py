"""Whether a state and the indexes that it names belong to the catalog that reads it.

A state travels: a snapshot may be restored under another name, beside the original or in another cluster. So
it says whose it is, by the catalog's name and by the UUID that the server gave each index. A restored index
has another UUID. Nothing is written, moved or deleted by a state that does not match; `adoption` binds it
anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kitpick_engines.errors import ForeignState
from kitpick_engines.remote.server import Json, SearchServer
from kitpick_engines.remote.state import CatalogState, is_named_for, state_index

_UUID = "index.uuid"


def uuids_of(server: SearchServer, names: Iterable[str]) -> dict[str, str]:
    """The UUID of every index that is on the server, by name."""
    listed = ",".join(sorted(set(names)))
    path = f"/{listed}/_settings/{_UUID}?flat_settings=true&ignore_unavailable=true&expand_wildcards=all"
    found = server.find("GET", path) or {} if listed else {}
    return {name: str(each["settings"][_UUID]) for name, each in found.items()}


def verify(server: SearchServer, name: str, state: CatalogState) -> None:
    """Compares the UUIDs of the catalog's indexes that are on the server with those that its state names.

    Raises:
        ForeignState: an index is not the one that this catalog made.
    """
    home = state_index(name)
    found = uuids_of(server, (home, *state.indexes, *state.dropped))
    for index, uuid in {**state.uuids, home: state.home}.items():
        if uuid and found.get(index, uuid) != uuid:
            raise ForeignState(name, f"{index} is not the index that this catalog made")


def bound(state: CatalogState, name: str, found: dict[str, str]) -> CatalogState:
    """The state with its name and the UUIDs of its indexes; those that are gone keep the one they had."""
    known = {index: found.get(index, state.uuids.get(index, "")) for index in _named(state)}
    uuids = {index: uuid for index, uuid in known.items() if uuid}
    return replace(state, name=name, home=found.get(state_index(name), state.home), uuids=uuids)


def deletable(server: SearchServer, name: str, state: CatalogState) -> list[str]:
    """The indexes that a state wants deleted, as far as they are still the ones that this catalog made."""
    found = uuids_of(server, state.dropped)
    return [
        index
        for index in state.dropped
        if index != state.live
        and is_named_for(index, name)
        and index in found
        and found[index] == state.uuids.get(index)
    ]


def strangers(aliased: Json, state: CatalogState) -> list[str]:
    """The indexes behind an alias that the catalog of this state did not make."""
    return [index for index in aliased if index not in _named(state)]


def _named(state: CatalogState) -> tuple[str, ...]:
    return (*state.indexes, *state.dropped)
