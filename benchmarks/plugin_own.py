"""The plugin's own query under load, and what it costs: parts of `scripts/bench plugin` (`own`, `processor`).

A real node with the plugin and the copy of a catalog, a real service beside it that remembers no score, the
default profile.

Part `own` has `goodput_ratio_3`, `_8`, `_64`: own queries a second that were answered in full and in time
while so many clients ask, over those while one does. The node gives its default deadline; node, service and
clients share all cores. `words_share_N` is the share of answers by words alone, `internal_N` how many
answers were called `internal`.

Part `processor` has seconds of processor time of a search, by process: of an own query in the node and in the
service, and of `Catalog.search` in the node and in the process that calls it. One client asks, and each way
gets the same requests. How busy the machine is matters little: what waits costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from plugin_node import filled_node  # isort: skip - adds folders to the path

from node_process import Node
from plugin_load import Endless, asking_own, copied, in_python, set_deadline
from plugin_rounds import Ask, Json, own_figures, run_round, show_own
from rich.console import Console
from rich.table import Table
from serving.process import UNCACHED, Served, serving

from kitpick.catalog import Catalog

OWN_CLIENTS = (1, 3, 8, 64)
_TICKS = os.sysconf("SC_CLK_TCK")


class Together(NamedTuple):
    """A node with a catalog, and the service that it asks."""

    node: Node
    service: Served
    name: str
    catalog: Catalog


@contextmanager
def together(plugin: Path, apis: Mapping[str, Any], original: Catalog) -> Iterator[Together]:
    """All three, running."""
    with (
        serving(UNCACHED) as service,
        filled_node(plugin, service.url, "key", dict(apis)) as node,
        copied(node, original) as (name, catalog),
    ):
        yield Together(node, service, name, catalog)


def own(
    plugin: Path, apis: Mapping[str, Any], texts: Sequence[str], original: Catalog, seconds: float
) -> Json:
    """Goodput of own queries for each number of clients."""
    handed = Endless(texts)
    with together(plugin, apis, original) as all_of_it:
        asks = [asking_own(all_of_it.node, all_of_it.name, handed) for _ in range(max(OWN_CLIENTS))]
        run_round(asks[:1], seconds)
        rounds = [run_round(asks[:clients], seconds) for clients in OWN_CLIENTS]
    show_own(rounds)
    return own_figures(rounds)


def processor(
    plugin: Path, apis: Mapping[str, Any], texts: Sequence[str], original: Catalog, searches: int
) -> Json:
    """Seconds of processor time of a search, by way and process."""
    with together(plugin, apis, original) as all_of_it:
        set_deadline(all_of_it.node, "60s")
        watched = {"node": all_of_it.node.pid, "service": all_of_it.service.pid, "caller": os.getpid()}
        ways: dict[str, Callable[[Endless], Ask]] = {
            "own": lambda handed: asking_own(all_of_it.node, all_of_it.name, handed),
            "python": lambda handed: in_python(all_of_it.catalog, handed),
        }
        for make in ways.values():
            spent(make(Endless(texts[-searches:])), searches, watched)
        costs = {way: spent(make(Endless(texts)), searches, watched) for way, make in ways.items()}
        set_deadline(all_of_it.node, None)
    table = Table("seconds of processor time a search", *watched)
    for way, cost in costs.items():
        table.add_row(way, *(f"{each:.3f}" for each in cost.values()))
    Console(width=110).print(table)
    return {
        f"processor_{way}": {name: round(each, 4) for name, each in cost.items()}
        for way, cost in costs.items()
    }


def spent(ask: Ask, searches: int, watched: Mapping[str, int]) -> dict[str, float]:
    """What a search cost each process, in the mean."""
    before = {name: processor_seconds(pid) for name, pid in watched.items()}
    outcomes = {ask() for _ in range(searches)}
    time.sleep(1.0)  # what is left to do behind an answer
    assert outcomes == {"rescored"}, outcomes
    return {name: (processor_seconds(pid) - before[name]) / searches for name, pid in watched.items()}


def processor_seconds(pid: int) -> float:
    """What a process has used so far, in itself and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
