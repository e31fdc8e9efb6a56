"""How two workers share the tests: by file, so that what a file sets up is set up once.

Files whose tests share a node for the whole session go to one worker, and what starts servers goes first, so
that no worker is left alone with a long file at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_DOUBLED = """
    bad_input differences hostile need own_index own_query permissions
    plugin_docs real_service rescoring stats templates
"""
_WITH_USERS = "complete_secured guards own_query_secured secured"
ONE_NODE = {
    **dict.fromkeys(_DOUBLED.split(), "plugin: one node and its double"),
    **dict.fromkeys(_WITH_USERS.split(), "plugin: one node with users"),
}
"""Files of `tests/plugin` that ask the same node, by the name of what they share."""


class ByFile(LoadScopeScheduling):
    """Gives a worker a whole file, or all files of one node."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # they come in the order that `longest_first` gave them

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """A parameter may have another name in each process: the time in an archive, the order of a set.

        Tests are given out by their number, whole files at a time, so that each is still run once.
        """
        first = next(iter(self.registered_collections.values()), None)
        if first is not None and list(map(_function, first)) == list(map(_function, collection)):
            collection = first
        super().add_node_collection(node, collection)

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def _function(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def scope_of(nodeid: str) -> str:
    """The file of a test, or what its file shares with others."""
    file = PurePosixPath(nodeid.partition("::")[0])
    if file.parent.name == "plugin":
        return ONE_NODE.get(file.stem.removeprefix("test_"), str(file))
    return str(file)


def longest_first(items: list[pytest.Item]) -> None:
    """Tests with a node of the plugin, then all that start servers, then the others; files stay together."""
    files = {scope_of(item.nodeid) for item in items if item.get_closest_marker("outside")}

    def rank(item: pytest.Item) -> tuple[bool, bool]:
        scope = scope_of(item.nodeid)
        return not scope.startswith("plugin:"), scope not in files

    items.sort(key=rank)
