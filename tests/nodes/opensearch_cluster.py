"""Several OpenSearch nodes as one cluster, each a process of its own on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from node_process import Node, free_port
from opensearch_node import RECIPE, opensearch_node

NAME = "several"


@contextmanager
def opensearch_cluster(
    folder: Path,
    count: int = 3,
    heap: str = "384m",
    *,
    plugins: Mapping[int, Sequence[Path]] | None = None,
    roles: Mapping[int, str] | None = None,
    settings: Sequence[str] = (),
    before: Callable[[Path], object] | None = None,
    recipe: Path = RECIPE,
) -> Iterator[list[Node]]:
    """That many nodes, which stop at the end, also those started anew.

    Args:
        folder: for their homes, data and logs.
        count: of nodes.
        heap: of each, as `-Xmx` takes it.
        plugins: zips by number of the node.
        roles: of a node by its number, as `node.roles` takes them; the others hold data and may lead.
        settings: `key=value` of every node.
        before: called with the folder of each node before any starts.
        recipe: what each is made of, as `opensearch_node` takes it.
    """
    plugins, roles = plugins or {}, roles or {}
    names = [f"node-{number}" for number in range(count)]
    leading = [name for number, name in enumerate(names) if number not in roles]
    transports = [free_port() for _ in names]
    shared = [
        f"cluster.name={NAME}",
        "discovery.type=zen",
        f"discovery.seed_hosts={','.join(f'127.0.0.1:{port}' for port in transports)}",
        f"cluster.initial_cluster_manager_nodes={','.join(leading)}",
        # A lost node's shards are copied anew at once.
        "cluster.fault_detection.leader_check.retry_count=2",
        "cluster.fault_detection.follower_check.retry_count=2",
        *settings,
    ]
    nodes = []
    for number, (name, port) in enumerate(zip(names, transports, strict=True)):
        (folder / name).mkdir()
        own = [f"node.name={name}", f"transport.port={port}"]
        own += [f"node.roles={roles[number]}"] if number in roles else []
        settings = [*shared, *own]
        nodes.append(
            opensearch_node(
                folder / name, plugins.get(number, ()), heap=heap, settings=settings, recipe=recipe
            )
        )
    for name in names if before else ():
        before(folder / name)
    try:
        with ThreadPoolExecutor(count) as pool:  # none is ready before most have met
            list(pool.map(Node.start, nodes))
        yield nodes
    finally:
        for node in nodes:
            node.stop()


def upgraded(node: Node, plugins: Sequence[Path], recipe: Path = RECIPE) -> Node:
    """A stopped node's data and settings under another version; it has to be started."""
    settings = [each.removeprefix("-E") for each in node.command if each.startswith("-E")]
    (heap,) = (each.removeprefix("-Xmx") for each in node.command if each.startswith("-Xmx"))
    return opensearch_node(node.folder, plugins, node.port, heap, settings, recipe)
