"""The plugin in a cluster: a node that holds no data, two versions of the plugin.

KITPICK_OTHER_PLUGIN names the zip of an earlier version to try beside this one; by default it is this one
under another version number.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from double import Double, answering, backwards
from keystore import write_key
from node_fixtures import fast_folder
from node_process import Node
from opensearch_cluster import opensearch_cluster
from plugin_node import Asking, settings_for
from searching import KEY, Refused, Search, ids, numbered, report

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.slow]
DATA, COORDINATING = 0, 1


class Cluster(NamedTuple):
    nodes: list[Node]
    data: Search
    coordinating: Search


@pytest.fixture(scope="module")
def older(plugin_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An earlier version of the plugin."""
    if given := os.environ.get("KITPICK_OTHER_PLUGIN"):
        return Path(given)
    renamed = tmp_path_factory.mktemp("older") / "kitpick-0.0.9.zip"
    with zipfile.ZipFile(plugin_zip) as made, zipfile.ZipFile(renamed, "w") as copy:
        for name in made.namelist():
            data = made.read(name)
            if name == "plugin-descriptor.properties":
                assert b"version=0.1.0" in data
                data = data.replace(b"version=0.1.0", b"version=0.0.9", 1)
            copy.writestr(name, data)
    return renamed


@pytest.fixture(scope="module")
def cluster(plugin_zip: Path, older: Path, double: Double) -> Iterator[Cluster]:
    """A data node with this version of the plugin, and a coordinating node with the older one."""
    with (
        tempfile.TemporaryDirectory(prefix="cluster-", dir=fast_folder()) as folder,
        opensearch_cluster(
            Path(folder),
            2,
            plugins={DATA: [plugin_zip], COORDINATING: [older]},
            roles={COORDINATING: "[remote_cluster_client]"},
            settings=settings_for(double),
            before=lambda each: write_key(each, KEY),
        ) as nodes,
    ):
        yield Cluster(nodes, Search(nodes[DATA].url), Asking(nodes[COORDINATING].url))


def stats(client: Search) -> dict[str, dict[str, Any]]:
    nodes: dict[str, dict[str, Any]] = client.call("GET", "/_plugins/_kitpick/stats")["nodes"]
    return {node["name"]: node for node in nodes.values()}


def versions(client: Search) -> dict[str, str]:
    rows = client.call("GET", "/_cat/plugins?format=json&h=name,component,version")
    return {row["name"]: row["version"] for row in rows if row["component"] == "kitpick"}


def test_a_node_without_data_rescores_what_others_hold(cluster: Cluster, double: Double) -> None:
    before = stats(cluster.coordinating)
    with double.behaving(answering(backwards)):
        answers = [asked({"size": 3}) for asked in (cluster.coordinating, cluster.data)]
    assert [report(each)["status"] for each in answers] == ["rescored"] * 2
    assert ids(answers[0]) == ids(answers[1]) == numbered(range(19, 16, -1))
    after = stats(cluster.data)
    assert {name: after[name]["rescored"] - before[name]["rescored"] for name in after} == {
        "node-0": 1, "node-1": 1,
    }  # fmt: skip


def test_two_versions_tell_each_other_their_statistics(cluster: Cluster, double: Double) -> None:
    found = versions(cluster.data)
    assert found.keys() == {"node-0", "node-1"}
    assert len(set(found.values())) == 2 or "KITPICK_OTHER_PLUGIN" in os.environ
    told = [stats(each) for each in (cluster.data, cluster.coordinating)]
    assert told[0].keys() == told[1].keys() == {"node-0", "node-1"}
    assert all(node["configured"] for each in told for node in each.values())
    with double.behaving(answering(backwards)):
        whole = {"size": 2, "profile": True, "explain": True, "ext": {"kitpick": {"window": 10}}}
        assert ids(cluster.coordinating(whole)) == ids(cluster.data(whole)) == numbered([9, 8])


@pytest.fixture
def far(cluster: Cluster) -> str:
    """A name under which the cluster is another one to itself."""
    (node,) = cluster.data.call("GET", "/_nodes/node-0/transport")["nodes"].values()
    other = {"mode": "proxy", "proxy_address": node["transport_address"], "skip_unavailable": False}
    cluster.data.call("PUT", "/_cluster/settings", {"persistent": {"cluster": {"remote": {"far": other}}}})
    for _ in range(100):
        found = cluster.data.call("GET", "/_remote/info")
        if found.get("far", {}).get("connected"):
            return "far"
        time.sleep(0.2)
    raise AssertionError(f"not connected to the other cluster after 20 seconds: {found}")


def test_hits_of_another_cluster_are_rescored(cluster: Cluster, double: Double, far: str) -> None:
    with double.behaving(answering(backwards)):
        there = cluster.data({"size": 3}, index=f"{far}:apis")
        both = cluster.data({"size": 4}, index=f"apis,{far}:apis")
    assert report(there)["status"] == report(both)["status"] == "rescored"
    assert ids(there) == numbered(range(19, 16, -1))
    assert there["_clusters"]["successful"] == 1
    assert {hit["index"] for hit in report(there)["hits"]} == {f"{far}:apis"}, "as its `_index`"
    assert {hit["_index"] for hit in both["hits"]["hits"]} == {"apis", f"{far}:apis"}


def test_an_index_of_another_cluster_is_no_catalog(cluster: Cluster, far: str) -> None:
    asked = {"query": {"kitpick": {"text": "anything"}}}
    with pytest.raises(Refused, match=f"{far}:apis") as refused:
        cluster.data.call("POST", f"/{far}:apis/_search", asked)
    assert refused.value.status in (400, 404)


def test_a_node_is_upgraded_while_the_other_answers(
    cluster: Cluster, plugin_zip: Path, older: Path, double: Double
) -> None:
    """Stop, remove, install, start: as `docs/plugin.md` says, one node after the other."""
    node = cluster.nodes[COORDINATING]
    node.stop()
    with double.behaving(answering(backwards)):
        assert report(cluster.data({"size": 2}))["status"] == "rescored"
    plugins = node.folder / "home" / "plugins"
    shutil.rmtree(plugins / older.stem)
    with zipfile.ZipFile(plugin_zip) as archive:
        archive.extractall(plugins / plugin_zip.stem)
    node.start()
    assert set(versions(cluster.data).values()) == {"0.1.0"}
    with double.behaving(answering(backwards)):
        assert ids(cluster.coordinating({"size": 3})) == numbered(range(19, 16, -1))
