"""From OpenSearch 2.19 to 3, one node after the other, as `docs/plugin.md` says, while others answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from double import Double, answering, backwards
from keystore import write_key
from node_fixtures import fast_folder
from opensearch_cluster import opensearch_cluster, upgraded
from opensearch_node import HERE, RECIPE, version
from plugin_node import Asking, build_for, settings_for
from searching import KEY, Search, report

pytestmark = [pytest.mark.needs("opensearch", "guarded_java"), pytest.mark.release]
BEFORE = HERE / "opensearch-2.19"


def versions(client: Search) -> list[str]:
    """Of the nodes that are in the cluster."""
    return sorted(row["version"] for row in client.call("GET", "/_cat/nodes?format=json&h=version"))


def wait_for(client: Search, status: str) -> None:
    """Between versions some copies stay away: an older node takes none of a newer one."""
    path = f"/_cluster/health?wait_for_status={status}&wait_for_no_initializing_shards=true&timeout=50s"
    found: dict[str, Any] = client.call("GET", path)
    assert not found["timed_out"], found


def test_every_node_rescores_before_between_and_after(plugin_zip: Path, double: Double) -> None:
    old_zip = build_for(BEFORE)
    with (
        tempfile.TemporaryDirectory(prefix="rolling-", dir=fast_folder()) as folder,
        double.behaving(answering(backwards)),
        opensearch_cluster(
            Path(folder), plugins={number: [old_zip] for number in range(3)}, settings=settings_for(double),
            before=lambda each: write_key(each, KEY), recipe=BEFORE,
        ) as nodes,
    ):  # fmt: skip
        first = Search(nodes[0].url)
        first.put("/apis/_settings", {"index.number_of_replicas": 2})
        wait_for(first, "green")
        for number, node in enumerate(nodes):
            node.stop()
            answers = [Asking(each.url)({"size": 3}) for each in nodes if each is not node]
            assert [report(each)["status"] for each in answers] == ["rescored"] * 2
            nodes[number] = upgraded(node, [plugin_zip]).start()
            clients = [Asking(each.url) for each in nodes]
            wait_for(clients[number], "green" if number == 2 else "yellow")
            asked = [each({"size": 3}) for each in clients]
            # copies order equal scores differently, so what is looked at is the places and not the names
            assert [[hit["first_rank"] for hit in report(each)["hits"]] for each in asked] == [
                [20, 19, 18]
            ] * 3
            assert versions(clients[0]).count(version(RECIPE)) == number + 1
