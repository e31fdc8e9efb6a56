"""Three nodes with replicas: one is lost while others search and write, and comes back."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from asking import generation, mixture
from catalogs import SCHEMA, fill
from node_fixtures import fast_folder
from node_process import Node
from opensearch_cluster import opensearch_cluster
from remote.test_killed_node import Background, reading, writing
from servers import catalog_url

from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.slow, pytest.mark.timeout(1500)]
SHARDS = 3
PATIENCE = 300


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Node]]:
    with (
        tempfile.TemporaryDirectory(prefix="cluster-", dir=fast_folder()) as folder,
        opensearch_cluster(Path(folder)) as started,
    ):
        yield started


def opened(nodes: list[Node]) -> RemoteEngine:
    """A catalog whose URL names every node, with a copy of each shard on two of them."""
    hosts = ",".join(node.url.removeprefix("http://") for node in nodes)
    url = catalog_url(f"http://{hosts}", "opensearch", replicas=1, shards=SHARDS, patience=PATIENCE)
    engine = open_engine(url)
    assert isinstance(engine, RemoteEngine)
    return engine


def whole(engine: RemoteEngine, nodes: int) -> None:
    """Waits until so many nodes hold every copy of every shard."""
    limit = time.monotonic() + PATIENCE
    wanted = f"/_cluster/health?wait_for_status=green&wait_for_nodes={nodes}&timeout=30s"
    while (health := engine.server.call("GET", wanted))["timed_out"]:
        assert time.monotonic() < limit, health


def test_copies_lie_on_different_nodes(nodes: list[Node]) -> None:
    with closing(opened(nodes)) as engine:
        index = fill(engine, generation(1))
        whole(engine, len(nodes))
        rows = engine.server.call("GET", f"/_cluster/state/routing_table/{index}")
        shards = rows["routing_table"]["indices"][index]["shards"]
        assert len(shards) == SHARDS
        for copies in shards.values():
            assert len({copy["node"] for copy in copies}) == len(copies) == 2


def test_a_node_is_lost_while_others_search_and_write(nodes: list[Node]) -> None:
    with closing(opened(nodes)) as writer, closing(open_engine(writer.url)) as reader:
        fill(writer, generation(0))
        whole(writer, len(nodes))
        numbers = count(1)
        threads = [Background(lambda: writing(writer, numbers)), Background(lambda: reading(reader))]
        for thread in threads:
            thread.start()
        for lost in (nodes[0], nodes[2]):
            time.sleep(1)
            lost.kill()
            before = [thread.done for thread in threads]
            limit = time.monotonic() + PATIENCE
            while any(thread.done < done + 2 for thread, done in zip(threads, before, strict=True)):
                assert time.monotonic() < limit, "two nodes of three go on"
                time.sleep(0.2)
            lost.start()
            whole(writer, len(nodes))
        for thread in reversed(threads):
            thread.end()
            assert thread.wrong == []
        assert mixture(reader) == ""
        last = generation(next(numbers))
        index = fill(writer, last, writer.live()[1])
        assert list(reader.hashes(index)) == [(e.document.id, e.document.content_hash) for e in last]


def test_every_node_answers_the_same(nodes: list[Node]) -> None:
    with closing(opened(nodes)) as engine:
        fill(engine, generation(5), SCHEMA)
        whole(engine, len(nodes))
        for node in nodes:
            host = node.url.removeprefix("http://")
            alone = f"opensearch://{host}/{engine.address.name}?vectors=exact"
            with closing(open_engine(alone)) as asked:
                assert mixture(asked) == ""
