"""Several OpenSearch nodes as one cluster, each a process of its own on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from node_process import Node, free_port
from opensearch_node import opensearch_node

NAME = "several"


@contextmanager
def opensearch_cluster(folder: Path, count: int = 3, heap: str = "384m") -> Iterator[list[Node]]:
    """That many nodes, all of which hold data and may lead; they stop at the end, also those started anew."""
    names = [f"node-{number}" for number in range(count)]
    transports = [free_port() for _ in names]
    shared = [
        f"cluster.name={NAME}",
        "discovery.type=zen",
        f"discovery.seed_hosts={','.join(f'127.0.0.1:{port}' for port in transports)}",
        f"cluster.initial_cluster_manager_nodes={','.join(names)}",
        # A lost node's shards are copied anew at once.
        "cluster.fault_detection.leader_check.retry_count=2",
        "cluster.fault_detection.follower_check.retry_count=2",
    ]
    nodes = []
    for name, port in zip(names, transports, strict=True):
        (folder / name).mkdir()
        own = [f"node.name={name}", f"transport.port={port}"]
        nodes.append(opensearch_node(folder / name, heap=heap, settings=[*shared, *own]))
    try:
        with ThreadPoolExecutor(count) as pool:  # none is ready before most have met
            list(pool.map(Node.start, nodes))
        yield nodes
    finally:
        for node in nodes:
            node.stop()
