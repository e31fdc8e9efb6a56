"""Three nodes with replicas: one is lost while others search and write, and comes back."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
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

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import RequestRefused

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
    while not answered_in_time(engine, wanted):
        assert time.monotonic() < limit, f"no {nodes} nodes with every copy"


def answered_in_time(engine: RemoteEngine, path: str) -> bool:
    try:
        return not engine.server.call("GET", path)["timed_out"]
    except (RequestRefused, EngineUnavailable):  # 408, or a node that has just come back
        return False


def test_copies_lie_on_different_nodes(nodes: list[Node]) -> None:
    with closing(opened(nodes)) as engine:
        index = fill(engine, generation(1))
        whole(engine, len(nodes))
        rows = engine.server.call("GET", f"/_cluster/state/routing_table/{index}")
        shards = rows["routing_table"]["indices"][index]["shards"]
        assert len(shards) == SHARDS
        for copies in shards.values():
            assert len({copy["node"] for copy in copies}) == len(copies) == 2


@contextmanager
def going_on(step: Callable[[], None]) -> Iterator[Background]:
    """Repeats the step until the end of the block; nothing but an unavailable server may come in between."""
    thread = Background(step)
    thread.start()
    try:
        yield thread
    finally:
        thread.end()
    assert thread.wrong == []


def wait_for(*threads: Background) -> None:
    """Until each has done its step twice more."""
    limit = time.monotonic() + PATIENCE
    before = [thread.done for thread in threads]
    while any(thread.done < done + 2 for thread, done in zip(threads, before, strict=True)):
        assert time.monotonic() < limit, "nothing goes on"
        time.sleep(0.2)


def test_searches_go_on_while_a_node_is_lost(nodes: list[Node]) -> None:
    with closing(opened(nodes)) as engine, closing(open_engine(engine.url)) as reader:
        fill(engine, generation(0))
        whole(engine, len(nodes))
        with going_on(lambda: reading(reader)) as searches:
            wait_for(searches)
            nodes[0].kill()
            wait_for(searches)
            nodes[0].start()
            whole(engine, len(nodes))


def test_a_node_is_lost_while_others_search_and_write(nodes: list[Node]) -> None:
    """Both go on at the latest when it is back: a shard of a new index may have had no copy elsewhere yet."""
    with closing(opened(nodes)) as writer, closing(open_engine(writer.url)) as reader:
        fill(writer, generation(0))
        whole(writer, len(nodes))
        numbers = count(1)
        with (
            going_on(lambda: reading(reader)) as searches,
            going_on(lambda: writing(writer, numbers)) as runs,
        ):
            wait_for(searches, runs)
            nodes[2].kill()
            time.sleep(5)
            nodes[2].start()
            wait_for(searches, runs)
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
