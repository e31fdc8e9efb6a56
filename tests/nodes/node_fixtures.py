"""One node of each search engine for the whole test session, started when the first test asks for it.

TOOLRANK_OPENSEARCH_URL and TOOLRANK_ELASTICSEARCH_URL name nodes that run already: that saves the start while
developing. OSNODE_PLUGINS names plugin zips to install into the OpenSearch node.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elasticsearch_node import elasticsearch_node
from node_process import Node
from opensearch_node import opensearch_node


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """Address of an OpenSearch node with k-NN; tests that use it are marked `needs("opensearch")`."""
    yield from _running("TOOLRANK_OPENSEARCH_URL", opensearch_node)


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """Address of an Elasticsearch node; tests that use it are marked `needs("elasticsearch")`."""
    yield from _running("TOOLRANK_ELASTICSEARCH_URL", elasticsearch_node)


def _running(variable: str, make: Callable[[Path], Node]) -> Iterator[str]:
    given = os.environ.get(variable)
    if given:
        yield given.rstrip("/")
        return
    with tempfile.TemporaryDirectory(prefix="node-", dir=_fast_folder()) as folder:
        node = make(Path(folder))
        try:
            yield node.start().url
        finally:
            node.stop()


def _fast_folder() -> str | None:
    """Memory where there is some: hundreds of small indexes wait mostly for the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
