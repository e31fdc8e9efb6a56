"""A node with the plugin that asks a double: how it is built for, set up, started and asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from building import build
from double import Double
from keystore import write_key
from once import this_run
from opensearch_node import build_options, opensearch_node, version
from searching import KEY, Search


class Asking(Search):
    """Asks a node for the index that is there already."""

    def __init__(self, url: str) -> None:
        super(Search, self).__init__(url)


def build_for(recipe: Path) -> Path:
    """The plugin's zip for the version of OpenSearch that a recipe names, without its unit tests."""
    wanted, goals = version(recipe), ("package", "-DskipTests", *build_options(recipe))
    return Path(this_run().once(f"plugin {wanted}", lambda: str(build(*goals, version=wanted))))


def settings_for(double: Double) -> list[str]:
    """Settings of a node that asks the double."""
    return [
        f"kitpick.endpoint={double.url}",
        # Time enough on any machine: tests of the deadline set a shorter one.
        "kitpick.deadline=60s",
        # A breaker that opened in one test would answer the next; it has tests of its own.
        "kitpick.breaker.failures=10000",
    ]


@contextmanager
def searched(folder: Path, plugin: Path, double: Double, recipe: Path, *others: Path) -> Iterator[Search]:
    """A running node of a recipe with the plugin and others, and the index `apis` in it."""
    node = opensearch_node(folder, [plugin, *others], settings=settings_for(double), recipe=recipe)
    write_key(folder, KEY)
    try:
        yield Search(node.start().url)
    finally:
        node.discard()
