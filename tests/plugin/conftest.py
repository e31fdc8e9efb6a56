"""One node with the plugin for all tests here. Its one endpoint is a double that misbehaves on command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from building import build
from double import Double
from keystore import write_key
from once import this_run
from opensearch_node import CHOSEN
from opensearch_node import RECIPE as NEWEST
from plugin_node import build_for, searched
from real_service import Service, serving
from searching import KEY, Search
from secured import ROLES, SETTINGS, USERS, Secured
from secured_node import RECIPE, secured_node
from stand_ins import agent_host


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test waits for Maven and for a node: minutes, where much else runs."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(3000))


@pytest.fixture(scope="session")
def plugin_zip() -> Path:
    """The plugin as it is installed; its build checks format, lints and runs its unit tests.

    For another version of the node the zip alone is built.
    """
    if CHOSEN != NEWEST:
        return build_for(CHOSEN)
    return Path(this_run().once("plugin", lambda: str(build("verify"))))


@pytest.fixture(scope="session")
def double() -> Iterator[Double]:
    """The rescorer that the node asks. Each test sets its behaviour."""
    server = Double()
    yield server
    server.close()


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the node that `search` asks."""
    return tmp_path_factory.mktemp("plugin-node")


@pytest.fixture(scope="session")
def node_log(node_folder: Path) -> Path:
    """What that node logs."""
    return node_folder / "stdout.log"


@pytest.fixture(scope="session")
def search(plugin_zip: Path, double: Double, node_folder: Path) -> Iterator[Search]:
    """A real node with the Java agent and the plugin, and the index `apis` in it."""
    with searched(node_folder, plugin_zip, double, CHOSEN) as client:
        yield client


@pytest.fixture(scope="session")
def secured(double: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A real node with users, small limits and a host of agents' tools, of another version."""
    folder = tmp_path_factory.mktemp("secured-node")
    settings = [f"kitpick.endpoint={double.url}", *SETTINGS]
    agents = agent_host(tmp_path_factory.mktemp("agent-host"), RECIPE)
    node = secured_node(folder, USERS, ROLES, [build_for(RECIPE), agents], settings)
    write_key(folder, KEY)
    try:
        yield Secured(node.start().url, folder)
    finally:
        node.discard()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The real rescorer with the shipped models."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running
