"""`kill -9` of the search server while sessions, rebuilds and swaps are going on.

KITPICK_NODE_KILLS sets how often; a restart takes seconds, so it is twice by default.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
import traceback
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from asking import generation, mixture
from catalogs import OTHER_SCHEMA, SCHEMA, fill
from node_fixtures import fast_folder
from node_process import Node
from opensearch_node import opensearch_node
from servers import catalog_url
from sizes import sized

from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine

KILLS = int(sized("KITPICK_NODE_KILLS", 2, 20))

pytestmark = [
    pytest.mark.needs("opensearch"),
    pytest.mark.release,
    pytest.mark.timeout(300 + 120 * KILLS),
]


@pytest.fixture
def node():
    with tempfile.TemporaryDirectory(prefix="killed-", dir=fast_folder()) as folder:
        node = opensearch_node(Path(folder), heap="384m")
        try:
            yield node.start()
        finally:
            node.stop()


class Background(threading.Thread):
    """Repeats something until it is told to stop, and remembers what went wrong."""

    def __init__(self, step) -> None:
        super().__init__(daemon=True)
        self._step = step
        self._ending = threading.Event()
        self.wrong: list[str] = []
        self.done = 0

    def run(self) -> None:
        while not self._ending.is_set():
            self._once()

    def _once(self) -> None:
        try:
            self._step()
            self.done += 1
        except EngineUnavailable:
            time.sleep(0.1)
        except Exception as error:  # noqa: BLE001 - the test says what it was
            self.wrong.append("".join(traceback.format_exception(error))[-1500:])

    def end(self) -> None:
        self._ending.set()
        self.join(240)
        assert not self.is_alive()


def writing(engine: RemoteEngine, numbers) -> None:
    """The next generation, every third one in an index of another schema that is swapped in."""
    number = next(numbers)
    schema = OTHER_SCHEMA if number % 6 > 2 else SCHEMA
    index = fill(engine, generation(number), schema)
    if engine.live()[0] != index:
        engine.swap(index)


def reading(engine: RemoteEngine) -> None:
    wrong = mixture(engine)
    assert not wrong, wrong


def test_a_killed_server_shows_the_state_before_or_after_and_goes_on(node: Node):
    url = catalog_url(node.url, "opensearch", patience=120, busy=120)
    rng = random.Random(7)
    with closing(open_engine(url)) as writer, closing(open_engine(url)) as reader:
        fill(writer, generation(0))
        numbers = count(1)
        threads = [Background(lambda: writing(writer, numbers)), Background(lambda: reading(reader))]
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.2, 1.5))
            node.kill()
            node.start()
        time.sleep(2)
        for thread in reversed(threads):
            thread.end()
            assert thread.wrong == []
            assert thread.done > 0
        assert mixture(reader) == ""
        last = generation(next(numbers))
        index = fill(writer, last, writer.live()[1])
        assert list(reader.hashes(index)) == [(e.document.id, e.document.content_hash) for e in last]
        assert reader.fetch(["s/t/00"], Filter()) == [last[0].document]
