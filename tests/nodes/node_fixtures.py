"""One node of each search engine for the whole test session, started when the first test asks for it.

Workers share it: what a test makes on it has a name of its own.

KITPICK_OPENSEARCH_URL and KITPICK_ELASTICSEARCH_URL name nodes that run already: that saves the start while
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
from once import this_run
from opensearch_node import opensearch_node

RUNNABLE: dict[str, tuple[str, Callable[[Path], Node]]] = {
    "opensearch": ("KITPICK_OPENSEARCH_URL", opensearch_node),
    "elasticsearch": ("KITPICK_ELASTICSEARCH_URL", elasticsearch_node),
}
"""The variable that names a running node, and what makes one."""


@pytest.fixture(scope="session")
def opensearch_url() -> str:
    """Address of an OpenSearch node with k-NN; tests that use it are marked `needs("opensearch")`."""
    return shared("opensearch")


@pytest.fixture(scope="session")
def elasticsearch_url() -> str:
    """Address of an Elasticsearch node; tests that use it are marked `needs("elasticsearch")`."""
    return shared("elasticsearch")


_STARTED: list[Node] = []
"""By this worker. They run until the run of the tests ends, whichever worker ends first."""


def shared(kind: str) -> str:
    """Address of the node that a variable names, or of the one that all workers of this run share."""
    variable, make = RUNNABLE[kind]
    given = os.environ.get(variable)
    return given.rstrip("/") if given else this_run().once(kind, lambda: _started(make))


def _started(make: Callable[[Path], Node]) -> str:
    folder = Path(tempfile.mkdtemp(prefix="node-", dir=fast_folder()))
    node = make(folder).start()
    this_run().keep(node.pid, folder)
    _STARTED.append(node)
    return node.url


def running(variable: str, make: Callable[[Path], Node]) -> Iterator[str]:
    """Address of the node that a variable names, or of one that runs until the generator ends."""
    given = os.environ.get(variable)
    if given:
        yield given.rstrip("/")
        return
    with tempfile.TemporaryDirectory(prefix="node-", dir=fast_folder()) as folder:
        node = make(Path(folder))
        try:
            yield node.start().url
        finally:
            node.discard()


def fast_folder() -> str | None:
    """Memory where there is some: hundreds of small indexes wait mostly for the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
