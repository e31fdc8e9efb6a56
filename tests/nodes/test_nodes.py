"""The nodes that other tests run against are what they say they are."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from jdk import find_jdk
from node_process import Node


def get(url: str) -> object:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.needs("opensearch")
def test_opensearch_runs_with_knn_and_searches_in_the_format_of_lucene(opensearch_url):
    assert get(opensearch_url)["version"]["distribution"] == "opensearch"
    plugins = {each["component"] for each in get(f"{opensearch_url}/_cat/plugins?format=json")}
    assert "opensearch-knn" in plugins


@pytest.mark.needs("elasticsearch")
def test_elasticsearch_runs(elasticsearch_url):
    assert get(elasticsearch_url)["tagline"] == "You Know, for Search"


@pytest.mark.needs("jdk")
def test_an_older_java_is_no_jdk_to_run_on(tmp_path: Path, monkeypatch):
    older = tmp_path / "jdk-17"
    (older / "bin").mkdir(parents=True)
    (older / "bin" / "javac").touch()
    (older / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.9"\n')
    monkeypatch.setenv("KITPICK_JAVA_HOME", str(older))
    assert find_jdk() not in (None, older)


def test_a_node_that_ends_at_once_shows_its_log(tmp_path: Path):
    with pytest.raises(RuntimeError, match="what went wrong"):
        Node(["sh", "-c", "echo what went wrong; exit 3"], tmp_path, 1).start()
