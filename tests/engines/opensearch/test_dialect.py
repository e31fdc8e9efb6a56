"""Who builds the graph is chosen by the URL."""

from __future__ import annotations

import pytest

from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine

pytest.importorskip("opensearchpy")


@pytest.mark.parametrize(("options", "graph"), [("", "lucene"), ("?graph=faiss", "faiss")])
def test_lucene_builds_the_graph_unless_the_url_says_otherwise(options, graph):
    engine = open_engine(f"opensearch://localhost/x{options}")
    assert isinstance(engine, RemoteEngine)
    field = engine.dialect.vector_field(384)
    assert (field["type"], field["dimension"]) == ("knn_vector", 384)
    assert field["method"]["engine"] == graph
    engine.close()
