"""What a catalog that was restored from a snapshot may do before and after it is adopted."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from asking import dense_of
from catalogs import OTHER_SCHEMA, SCHEMA, fill, item, unit
from servers import MakeCatalog

from kitpick_engines.errors import ForeignState, NameTaken, NotAdoptable
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import Json

_PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operating.md").read_text("utf-8")
_TAKE, _RENAME = re.findall(r"```json\n(?:PUT|POST) \S+\n(.*?)```", _PAGE, re.S)
"""The bodies that the page tells operators to send, for a catalog `tools` and its copy `drill`."""


def _said(body: str, name: str, copy: str = "") -> Json:
    said: Json = msgspec.json.decode(body.replace("tools", name).replace("drill", copy))
    return said


def take_snapshot(engine: RemoteEngine) -> str:
    """A snapshot of a catalog, as an operator takes one; its path for requests."""
    name = engine.address.name
    repository = f"/_snapshot/r{uuid.uuid4().hex[:12]}"
    engine.server.call("PUT", repository, {"type": "fs", "settings": {"location": repository[-12:]}})
    engine.server.call("PUT", f"{repository}/one?wait_for_completion=true", _said(_TAKE, name))
    return f"{repository}/one"


def restore(engine: RemoteEngine, snapshot: str, body: Json) -> None:
    path = f"{snapshot}/_restore?wait_for_completion=true"
    answer = engine.server.call("POST", path, {"include_global_state": False, **body})
    assert answer["snapshot"]["shards"]["failed"] == 0


def renamed(name: str, copy: str, *, aliases: bool = True) -> Json:
    """A restore under another name. `aliases`: they get another name as well, as the page says."""
    body = _said(_RENAME, name, copy)
    return body if aliases else {key: body[key] for key in body if "alias_" not in key}


def sight(engine: RemoteEngine) -> Json:
    """All that a neighbour must not change of a catalog: its state, documents, indexes and aliases."""
    name = engine.address.name
    call = engine.server.call
    live = engine.live()
    assert live is not None
    return {
        "state": call("GET", f"/{name}-state/_doc/catalog")["_source"],
        "versions": call("POST", f"/{live[0]}/_search", {"size": 100, "sort": ["id"]})["hits"]["hits"],
        "uuids": call("GET", f"/{name}-*/_settings/index.uuid?expand_wildcards=all"),
        "aliases": call("GET", f"/{live[0]}/_alias"),
    }


def adopted(engine: RemoteEngine) -> Sequence[str]:
    plan = engine.planned_adoption()
    assert plan is not None
    engine.adopt(plan)
    assert engine.planned_adoption() is None, "what was adopted matches"
    return plan.unaliased


class RestoreContract:
    """Inherited by the tests of each server that takes snapshots."""

    @pytest.fixture
    def original(self, make_engine: MakeCatalog) -> RemoteEngine:
        engine = make_engine()
        fill(engine, [item("s/t/a", description="weather"), item("s/t/b")])
        return engine

    @pytest.fixture
    def copy(self, original: RemoteEngine, make_engine: MakeCatalog) -> RemoteEngine:
        name = original.address.name
        copy = make_engine(original.url.replace(name, f"{name}copy"))
        restore(original, take_snapshot(original), renamed(name, copy.address.name))
        return copy

    def test_a_renamed_copy_reads_and_changes_nothing_before_it_is_adopted(self, original, copy):
        before = sight(original)
        index, _ = original.live()
        for act in (
            copy.live,
            lambda: copy.ensure(SCHEMA),
            lambda: copy.ensure(OTHER_SCHEMA),
            lambda: copy.swap(index),
            lambda: fill(copy, [item("s/t/stray")]),
            lambda: copy.writing(index).__enter__(),
            lambda: dense_of(copy, unit(1)),
        ):
            with pytest.raises(ForeignState, match="kitpick adopt"):
                act()
        assert sight(original) == before

    def test_an_adopted_copy_leaves_the_original_alone(self, original, copy):
        before = sight(original)
        adopted(copy)
        assert dense_of(copy, unit(1)) == ["s/t/a", "s/t/b"]
        fill(copy, [item("s/t/c")])
        index = fill(copy, [item("s/t/d")], OTHER_SCHEMA)
        copy.swap(index)
        name = copy.address.name
        assert list(copy.server.call("GET", f"/_alias/{name}")) == [index]
        assert list(copy.server.call("GET", f"/{name}-apis-*/_settings")) == [index]
        assert dense_of(copy, unit(1)) == ["s/t/d"]
        assert sight(original) == before

    def test_the_original_goes_on_beside_a_copy_that_bears_its_alias(self, original, make_engine):
        name = original.address.name
        copy = make_engine(original.url.replace(name, f"{name}copy"))
        restore(original, take_snapshot(original), renamed(name, copy.address.name, aliases=False))
        other = f"{copy.address.name}-apis-{SCHEMA.fingerprint}-1"
        assert original.strangers() == [other]
        new = fill(original, [item("s/t/c")], OTHER_SCHEMA)
        original.swap(new)
        assert copy.server.call("GET", f"/{other}/_count")["count"] == 2, "the copy is still there"
        assert set(copy.server.call("GET", f"/_alias/{name}")) == {new, other}
        assert list(adopted(copy)) == [name]
        assert list(copy.server.call("GET", f"/_alias/{name}")) == [new]
        assert dense_of(copy, unit(1)) == ["s/t/a", "s/t/b"]

    def test_the_same_names_in_a_cluster_that_has_lost_them(self, original):
        name = original.address.name
        snapshot = take_snapshot(original)
        for index in original.server.call("GET", f"/{name}-*/_settings?expand_wildcards=all"):
            original.server.call("DELETE", f"/{index}")
        restore(original, snapshot, {})
        assert dense_of(original, unit(1)) == ["s/t/a", "s/t/b"], "what is there can be searched at once"
        with pytest.raises(ForeignState, match="kitpick adopt"):
            fill(original, [item("s/t/c")])
        adopted(original)
        fill(original, [item("s/t/c")])
        assert dense_of(original, unit(1)) == ["s/t/a", "s/t/b", "s/t/c"]

    @pytest.mark.parametrize(("part", "missing"), [("-state", "-apis-"), ("-apis-*", "-state")])
    def test_a_part_is_not_adopted(self, original, make_engine, part, missing):
        name = original.address.name
        copy = make_engine(original.url.replace(name, f"{name}copy"))
        chosen = renamed(name, copy.address.name) | {"indices": name + part}
        restore(original, take_snapshot(original), chosen)
        with pytest.raises(NotAdoptable, match=copy.address.name + missing):
            copy.planned_adoption()

    def test_a_new_catalog_does_not_write_into_what_was_restored_without_its_state(
        self, original, make_engine
    ):
        name = original.address.name
        copy = make_engine(original.url.replace(name, f"{name}copy"))
        chosen = renamed(name, copy.address.name)
        chosen |= {"indices": f"{name}-apis-*", "include_aliases": False}
        restore(original, take_snapshot(original), chosen)
        with pytest.raises(NameTaken, match="with 2 documents"):
            fill(copy, [item("s/t/c")])

    def test_a_state_that_is_older_than_its_index(self, original):
        name = original.address.name
        snapshot = take_snapshot(original)
        fill(original, [item("s/t/a", description="later"), item("s/t/later")])
        original.server.call("DELETE", f"/{name}-state")
        restore(original, snapshot, {"indices": f"{name}-state"})
        with pytest.raises(ForeignState, match="kitpick adopt"):
            fill(original, [item("s/t/c")])
        adopted(original)
        assert dense_of(original, unit(1)) == ["s/t/a", "s/t/b"], "as it was when the snapshot was taken"
        fill(original, [item("s/t/c")])
        assert dense_of(original, unit(1)) == ["s/t/a", "s/t/b", "s/t/c"]

    def test_an_index_that_somebody_made_anew_is_not_deleted_for_the_old_one(self, original):
        index, _ = original.live()
        new = fill(original, [item("s/t/c")], OTHER_SCHEMA)
        original.server.call("DELETE", f"/{index}")
        original.server.call("PUT", f"/{index}", {"settings": {"number_of_replicas": 0}})
        with pytest.raises(ForeignState, match=index):
            original.swap(new)
        assert original.server.find("GET", f"/{index}/_settings") is not None

    def test_a_new_catalog_does_not_take_a_name_that_is_an_alias(self, original, make_engine):
        index, _ = original.live()
        taken = make_engine()
        name = taken.address.name
        add = {"add": {"index": index, "alias": name}}
        original.server.call("POST", "/_aliases", {"actions": [add]})
        with pytest.raises(NameTaken, match=index):
            taken.ensure(SCHEMA)
        assert list(original.server.call("GET", f"/_alias/{name}")) == [index]
