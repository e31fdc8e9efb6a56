"""A capacity model: the size of the cluster that a catalog needs, computed from measured figures.

Unless it says otherwise, a constant was measured by `scripts/bench large_catalog` (20,000, 600,000 and
1,000,000 documents of ToolBench's length in one shard, vectors of 384 dimensions) or `scripts/bench
rescoring`; benchmarks/README.md has the tables. Beyond these sizes everything is linear extrapolation.
"""

from __future__ import annotations

import math

import msgspec

LINK_BYTES = 100
"""Bytes of the graph per document, with 16 links a node."""
TEXT_BYTES = 6_030
"""Bytes on disk per document beside vector and graph: its stored form, and for replicas what was sent."""
HEAP_GB = 1.0
"""Memory of the search server itself on a node, in GB."""
SEARCH_CORE_MS = 44.0
"""Processor time of the servers for one hybrid search, whatever the size: fetching the candidates, mostly."""
SHARD_CORE_MS = 5.0
"""Processor time of one search for every shard beyond the first. Not measured."""
SEARCH_CORE_MS_PER_MILLION = 95.0
"""Processor time of one search for every million documents: the ranking by words, above all."""
WRITES_PER_CORE = 900
"""Documents a second and core of the server, merges not included."""
PAIR_CORE_MS = 8.0
"""Processor time of the rescorer for one pair, with the shipped cross-encoder."""
BUSY = 0.6
"""Share of a core that may be planned with: the rest is for peaks, merges and failures."""
SHARD_GB = 40.0
"""Size from which a shard becomes slow to move and to recover."""
CACHED = 0.5
"""Share of a node's memory that is left to the operating system, which keeps vectors and graph in it."""


class Demand(msgspec.Struct, frozen=True):
    """The demand on a cluster."""

    apis: float
    qps: float
    """Searches a second at the peak."""
    dimensions: int = 384
    pairs: int = 16
    """Candidates that the cross-encoder reads in one search; 0 without a rescorer."""
    replicas: int = 1
    latency: float = 250.0
    """Milliseconds that one shard may take for its part of a search."""
    node_cores: int = 16
    node_gb: int = 64
    rescorer_cores: int = 2
    """Cores of one copy of the rescorer."""


class Driver(msgspec.Struct, frozen=True):
    """A part of the cost, and a way to lower it."""

    name: str
    cores: float
    lowered_by: str


class CapacityPlan(msgspec.Struct, frozen=True):
    """The cluster for a demand."""

    shards: int
    apis_per_shard: float
    disk_gb: float
    """Disk for one copy of the data."""
    memory_gb: float
    """Memory for the vectors and the graph of one copy: without it every search waits for the disk."""
    copies: int
    """Copies of the data, the primary one included."""
    nodes: int
    """Data nodes of the size that was given."""
    total_disk_gb: float
    total_memory_gb: float
    search_cores: float
    rescorer_copies: int
    load_hours: float
    """Hours to write every document once, on all nodes."""
    drivers: tuple[Driver, ...]
    """The costliest first."""


def bytes_per_document(dimensions: int) -> float:
    """Bytes on disk: the vector in the graph's file and in base64 in the stored document, links, the rest."""
    return 4 * dimensions + 4 * dimensions * 4 / 3 + LINK_BYTES + TEXT_BYTES


def search_core_ms(apis: float, shards: int) -> float:
    """Processor time of the servers for one hybrid search."""
    return SEARCH_CORE_MS + SHARD_CORE_MS * (shards - 1) + SEARCH_CORE_MS_PER_MILLION * apis / 1e6


def plan_capacity(demand: Demand) -> CapacityPlan:
    """Computes the cluster for a demand."""
    disk = demand.apis * bytes_per_document(demand.dimensions) / 1e9
    memory = demand.apis * (4 * demand.dimensions + LINK_BYTES) / 1e9
    quick = max(demand.latency - SEARCH_CORE_MS, 1.0) / SEARCH_CORE_MS_PER_MILLION * 1e6
    shards = max(1, math.ceil(demand.apis / quick), math.ceil(disk / SHARD_GB))
    search = demand.qps * search_core_ms(demand.apis, shards) / 1e3 / BUSY
    rescoring = demand.qps * demand.pairs * PAIR_CORE_MS / 1e3 / BUSY
    nodes_a_copy = max(1, math.ceil(memory / (CACHED * demand.node_gb)))
    nodes = max(nodes_a_copy * (1 + demand.replicas), math.ceil(search / demand.node_cores))
    copies = max(1 + demand.replicas, nodes // nodes_a_copy)
    writing = WRITES_PER_CORE * demand.node_cores * nodes * BUSY / copies
    return CapacityPlan(
        shards=shards,
        apis_per_shard=demand.apis / shards,
        disk_gb=disk,
        memory_gb=memory,
        copies=copies,
        nodes=nodes,
        total_disk_gb=disk * copies,
        total_memory_gb=memory * copies + HEAP_GB * nodes,
        search_cores=search,
        rescorer_copies=math.ceil(rescoring / demand.rescorer_cores),
        load_hours=demand.apis / writing / 3600,
        drivers=_drivers(demand, shards, rescoring),
    )


def _drivers(demand: Demand, shards: int, rescoring: float) -> tuple[Driver, ...]:
    per_second = demand.qps / 1e3 / BUSY
    found = (
        Driver(
            "cross-encoder",
            rescoring,
            "fewer candidates, a smaller model, a cache for repeated requests, or a GPU",
        ),
        Driver(
            "words of every document",
            per_second * SEARCH_CORE_MS_PER_MILLION * demand.apis / 1e6,
            "routing a tenant or category to shards of its own",
        ),
        Driver(
            "candidates, and a search in every shard",
            per_second * (SEARCH_CORE_MS + SHARD_CORE_MS * (shards - 1)),
            "fewer, larger shards",
        ),
    )
    return tuple(sorted(found, key=lambda driver: -driver.cores))
