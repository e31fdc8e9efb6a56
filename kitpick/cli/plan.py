"""`kitpick plan`: the size of the cluster that a catalog needs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from kitpick.capacity import CapacityPlan, Demand, plan_capacity
from kitpick.cli.console import print_json, print_table
from kitpick.cli.options import JsonOption


def plan(
    apis: Annotated[
        float, typer.Option("--apis", min=1, max=1e12, help="Number of APIs in the catalog, such as 100e6.")
    ],
    qps: Annotated[float, typer.Option("--qps", min=0, max=1e9, help="Searches per second at the peak.")],
    dimensions: Annotated[
        int, typer.Option("--dimensions", min=1, max=16_000, help="Dimensions of the encoder's vectors.")
    ] = 384,
    pairs: Annotated[
        int,
        typer.Option(
            "--pairs", min=0, max=1_000, help="Candidates that the cross-encoder scores for each search."
        ),
    ] = 16,
    replicas: Annotated[
        int, typer.Option("--replicas", min=0, max=100, help="Smallest number of replicas of the data.")
    ] = 1,
    latency: Annotated[
        float,
        typer.Option(
            "--latency", min=1, max=60_000, help="Milliseconds that one shard may take for a search."
        ),
    ] = 250.0,
    node_cores: Annotated[int, typer.Option("--node-cores", min=1, help="Cores of a data node.")] = 16,
    node_gb: Annotated[int, typer.Option("--node-gb", min=1, help="Memory of a data node, in GB.")] = 64,
    rescorer_cores: Annotated[
        int, typer.Option("--rescorer-cores", min=1, help="Cores of one copy of the rescorer.")
    ] = 2,
    as_json: JsonOption = False,
) -> None:
    """Estimates shards, memory, disk and rescorers for a catalog in OpenSearch.

    The estimates come from measurements, which docs/scaling.md describes.
    """
    demand = Demand(
        apis=apis,
        qps=qps,
        dimensions=dimensions,
        pairs=pairs,
        replicas=replicas,
        latency=latency,
        node_cores=node_cores,
        node_gb=node_gb,
        rescorer_cores=rescorer_cores,
    )
    found = plan_capacity(demand)
    print_json(found) if as_json else _print(found)


def _print(found: CapacityPlan) -> None:
    table = Table("what", "how much")
    rows = {
        "shards": f"{found.shards:,}, of {found.apis_per_shard / 1e6:.2f} million APIs each",
        "copies of the data": f"{found.copies:,}",
        "data nodes": f"{found.nodes:,}",
        "cores for searching": f"{found.search_cores:,.0f}",
        "disk of one copy": f"{found.disk_gb:,.1f} GB",
        "disk of all copies": f"{found.total_disk_gb:,.1f} GB",
        "memory of one copy": f"{found.memory_gb:,.1f} GB for vectors and graph",
        "memory of all copies": f"{found.total_memory_gb:,.1f} GB, heaps included",
        "copies of the rescorer": f"{found.rescorer_copies:,}",
        "hours to write everything": f"{found.load_hours:,.1f}",
    }
    for name, text in rows.items():
        table.add_row(name, text)
    print_table(table)
    costs = Table("cost driver", "cores", "lowered by")
    for driver in found.drivers:
        costs.add_row(driver.name, f"{driver.cores:,.0f}", driver.lowered_by)
    print_table(costs)
