"""Taking the plugin off a node, as docs/plugin.md says: what stays behind, and what has to go first."""

from __future__ import annotations

from pathlib import Path

import pytest
from double import Double
from keystore import write_key
from opensearch_node import opensearch_node
from searching import PIPELINE, Refused, Search, ids, report

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]


def test_what_was_left_behind_is_named_and_the_rest_goes_on(
    plugin_zip: Path, double: Double, tmp_path: Path
) -> None:
    endpoint = f"kitpick.endpoint={double.url}"
    with_plugin = opensearch_node(tmp_path, [plugin_zip], settings=[endpoint])
    write_key(tmp_path, "a key")
    try:
        search = Search(with_plugin.start().url)
        search.put("/_search/pipeline/tools", PIPELINE)
        search.put("/apis/_settings", {"index.search.default_pipeline": "tools"})
        search.put("/_cluster/settings", {"persistent": {"kitpick.deadline": "2s"}})
        before = ids(search(pipeline="_none"))
        assert report(search(pipeline="tools"))["status"] == "rescored"
    finally:
        with_plugin.stop()

    with pytest.raises(RuntimeError, match=r"unknown setting \[kitpick.endpoint\]"):
        opensearch_node(tmp_path, [], settings=[endpoint]).start()
    with pytest.raises(RuntimeError, match=r"unknown secure setting \[kitpick.key\]"):
        opensearch_node(tmp_path, []).start()

    (tmp_path / "config" / "opensearch.keystore").unlink()
    without = opensearch_node(tmp_path, [])
    try:
        search.url = without.start().url
        with pytest.raises(Refused) as refused:
            search.call("POST", "/apis/_search", {})
        assert refused.value.status == 400
        search.put("/apis/_settings", {"index.search.default_pipeline": None})
        assert ids(search(pipeline="_none")) == before
        assert search.call("DELETE", "/_search/pipeline/tools") == {"acknowledged": True}
        assert len(ids(search.call("POST", "/apis/_search", {}))) == 10
        assert cluster_settings(search)["archived.kitpick.deadline"] == "2s"
        search.put("/_cluster/settings", {"persistent": {"archived.*": None}})
        assert "archived.kitpick.deadline" not in cluster_settings(search)
    finally:
        without.stop()


def cluster_settings(search: Search) -> dict[str, str]:
    """What was set for the whole cluster, and is kept."""
    kept: dict[str, str] = search.call("GET", "/_cluster/settings?flat_settings=true")["persistent"]
    return kept
