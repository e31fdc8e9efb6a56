"""What comes through the plugin while 1 to 64 clients ask: parts of `scripts/bench plugin` (`load`, `bytes`).

A real node with the plugin, a real service beside it, requests of ToolBench dev, the default profile.

*Goodput* is the number of searches a second that were rescored in full: in time, and with the scores of the
cross-encoder. The node gives a search the default deadline, one second. Half of the cores are the service's,
the other half the node's and the clients': searches that are answered without the service must not take its
time. While so many clients ask through the plugin, one more asks for the same without it: what searches
without the service's answer (*shed*) cost is compared with that.

What *the service alone* does is measured in turn with it, by the very same calls: their bodies were recorded
from the node. Meanwhile as many clients search without the plugin as else with it, because cores of one
machine are not quite their own: a core that works slows the others down. How much the service does while
nothing else works is printed, too.

*Throughput* is that of 4 clients that have all the time they want, on all cores for everybody: the plugin's
own query and the window of 50 hits, and beside them, in turn, `Catalog.search` in 4 threads of a Python
process, on the catalog that the own query reads, in the same node.

Part `bytes` has `bytes_per_query`: what the node sends to the service for a query of its own, where the
service was sent the documents before. The same requests are asked twice; the second time counts. How busy the
machine is makes no difference.

No score is remembered anywhere: the service has no score cache, and Python gets no request twice.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from plugin_node import body_of, filled_node  # isort: skip - adds folders to the path

from double import Double, answering, backwards
from node_process import Node
from plugin_rounds import (
    SCORES,
    Ask,
    Beside,
    Json,
    Round,
    goodput_figures,
    of_node,
    of_service,
    parted,
    run_round,
    show_goodput,
    show_throughput,
    throughput_figures,
    within,
)
from searching import Client
from serving.process import UNCACHED
from serving.process import serving as serving_without_key

from kitpick.catalog import Catalog
from kitpick_engines.opening import open_engine
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.progress import NullProgress

CLIENTS = (1, 4, 16, 64)
DEADLINE_SECONDS = 1
"""What a node gives by default."""
THROUGHPUT_CLIENTS = 4
SENT_QUERIES = 50
TURNS = 2
"""How often each side of the throughput is measured, in turn."""


# Clients


class Endless:
    """Items in turn, again and again, for several threads; counts how many were handed out."""

    def __init__(self, items: Sequence[str]) -> None:
        self._items = itertools.cycle(items)
        self._lock = threading.Lock()
        self.taken = 0

    def __call__(self) -> str:
        """The next one."""
        with self._lock:
            self.taken += 1
            return next(self._items)


def over_http(
    url: str, request: Callable[[], tuple[str, bytes]], outcome: Callable[[int, bytes], str]
) -> Ask:
    """A client with a kept connection."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)

    def ask() -> str:
        path, body = request()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return outcome(response.status, response.read())

    return ask


def searching(node: Node, texts: Endless, section: Json | None) -> Ask:
    """A client that searches, through the plugin where there is a section."""

    def request() -> tuple[str, bytes]:
        path, body = body_of(texts(), section)
        return path, json.dumps(body).encode()

    return over_http(node.url, request, of_node)


def asking_own(node: Node, name: str, texts: Endless) -> Ask:
    """A client with the plugin's own query, over the catalog of this name."""

    def request() -> tuple[str, bytes]:
        body = {"size": 5, "query": {"kitpick": {"text": texts()}}}
        return f"/{name}/_search", json.dumps(body).encode()

    return over_http(node.url, request, of_node)


def in_python(catalog: Catalog, texts: Endless) -> Ask:
    """A thread that searches with the models of this process."""

    def ask() -> str:
        left = catalog.search(texts(), 5).degraded
        return "partial" if any(each.stage == SCORES for each in left) else "rescored"

    return ask


# Processes and cores


def halves(cores: set[int]) -> tuple[set[int], set[int]]:
    """Cores of the service, and of everybody else; the same where there is only one."""
    ordered = sorted(cores)
    middle = len(ordered) // 2
    return set(ordered[:middle] or ordered), set(ordered[middle:])


def confine(process: int, cores: set[int]) -> None:
    """Every thread of a process runs on these cores, and what it starts from now on."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cores)


@contextmanager
def service_on(port: int, cores: set[int]) -> Iterator[str]:
    """Address of a service without a score cache, on a port and on cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    with ExitStack() as stack:
        try:
            served = stack.enter_context(serving_without_key(UNCACHED, ("--port", str(port))))
        finally:
            os.sched_setaffinity(0, before)
        yield served.url


def set_deadline(node: Node, deadline: str | None) -> None:
    """The node's deadline from now on; None for the default."""
    settings = {"kitpick.deadline": deadline}
    Client(node.url).put("/_cluster/settings", {"persistent": settings})


# The part


class Plan(NamedTuple):
    """How long is measured, and with how many clients."""

    clients: Sequence[int]
    alone: int
    seconds: float


def load(plugin: Path, apis: dict[str, Any], texts: Sequence[str], original: Catalog, plan: Plan) -> Json:
    """Goodput and throughput, as tables and figures. `original` holds the same APIs, with vectors."""
    double = Double()
    cores = os.sched_getaffinity(0)
    settings = (f"kitpick.deadline={DEADLINE_SECONDS}s",)
    with filled_node(plugin, double.url, "key", apis, settings) as node:
        bodies = recorded(double, node, texts)
        port = double.port
        double.close()
        try:
            confine(node.pid, halves(cores)[1])
            os.sched_setaffinity(0, halves(cores)[1])
            with service_on(port, halves(cores)[0]) as url:
                measured = goodput(node, url, texts, bodies, plan)
        finally:
            confine(node.pid, cores)
            os.sched_setaffinity(0, cores)
        with service_on(port, cores), copied(node, original) as (name, catalog):
            sides = throughput(node, name, catalog, texts, plan)
    show_goodput(measured)
    show_throughput(sides)
    return goodput_figures(measured) | throughput_figures(sides)


def traffic(plugin: Path, apis: dict[str, Any], texts: Sequence[str], original: Catalog) -> Json:
    """Bytes of queries of the plugin's own. `original` is copied into the node."""
    with (
        serving_without_key(UNCACHED) as service,
        filled_node(plugin, service.url, "key", apis) as node,
        copied(node, original) as (name, _),
    ):
        first, again = (sent_bytes(node, name, texts[:SENT_QUERIES]) for _ in range(2))
    print(f"bytes to the service for a query of its own: {first:,}, and again: {again:,}")
    return {"bytes_per_query": again}


def sent_bytes(node: Node, name: str, texts: Sequence[str]) -> int:
    """What the node sends to the service for a query of its own, in the mean over these texts."""
    before = _request_bytes(node)
    ask = asking_own(node, name, Endless(texts))
    set_deadline(node, "60s")
    outcomes = {ask() for _ in texts}
    set_deadline(node, None)
    assert outcomes == {"rescored"}, outcomes
    return (_request_bytes(node) - before) // len(texts)


def _request_bytes(node: Node) -> int:
    (stats,) = Client(node.url).call("GET", "/_plugins/_kitpick/stats")["nodes"].values()
    return int(stats["request_bytes"])


def recorded(double: Double, node: Node, texts: Sequence[str]) -> list[bytes]:
    """The calls that the node makes for searches with these texts."""
    all_texts = Endless(texts)
    ask = searching(node, all_texts, {})
    set_deadline(node, "60s")
    with double.behaving(answering(backwards)):
        outcomes = {ask() for _ in texts}
        bodies = [json.dumps(call).encode() for call in double.calls]
    set_deadline(node, None)
    assert outcomes == {"rescored"}, outcomes
    return bodies


def goodput(
    node: Node, service: str, texts: Sequence[str], bodies: Sequence[bytes], plan: Plan
) -> list[Beside]:
    """For each number of clients: the service alone, then the plugin, each beside searches without it."""
    calls = itertools.cycle(bodies)
    lock = threading.Lock()

    def call() -> tuple[str, bytes]:
        with lock:
            return "/v1/rescore", next(calls)

    asked = Endless(texts)
    alone = [over_http(service, call, of_service) for _ in range(plan.alone)]
    run_round(alone, plan.seconds / 3)
    run_round([searching(node, asked, {}) for _ in range(plan.alone)], plan.seconds / 3)
    idle = run_round(alone, plan.seconds)
    measured = []
    for clients in plan.clients:
        others = [searching(node, asked, None) for _ in range(clients + 1)]
        before, _ = parted(run_round([*alone, *others], plan.seconds), plan.alone)
        through = [searching(node, asked, {}) for _ in range(clients)]
        rest, plain = parted(run_round([*through, others[0]], plan.seconds), clients)
        measured.append(Beside(rest, plain, within(before, DEADLINE_SECONDS), idle))
    return measured


@contextmanager
def copied(node: Node, original: Catalog) -> Iterator[tuple[str, Catalog]]:
    """Name of a copy of the catalog in the node, and the copy as Python searches it."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    address = f"opensearch://{node.url.removeprefix('http://')}/{name}?replicas=0&timeout=600&patience=600"
    with closing(open_engine(address)) as engine:
        copy_catalog(original.engine, engine, NullProgress())
        yield name, Catalog(engine, original.settings, original.models)


def throughput(
    node: Node, name: str, catalog: Catalog, texts: Sequence[str], plan: Plan
) -> dict[str, list[Round]]:
    """Rounds of each side, in turn. No side gets a request twice while it has had fewer than there are."""
    handed = {side: Endless(texts) for side in ("own", "window", "python")}
    clients: dict[str, Callable[[], Ask]] = {
        "own": lambda: asking_own(node, name, handed["own"]),
        "window": lambda: searching(node, handed["window"], {}),
        "python": lambda: in_python(catalog, handed["python"]),
    }
    set_deadline(node, "60s")
    sides: dict[str, list[Round]] = {side: [] for side in clients}
    for turn in range(1 + TURNS):
        for side, client in clients.items():
            asks = [client() for _ in range(THROUGHPUT_CLIENTS)]
            found = run_round(asks, plan.seconds if turn else plan.seconds / 3)
            sides[side] += [found] if turn else []
    set_deadline(node, None)
    for side, requests in handed.items():
        if requests.taken > len(texts):
            print(f"{side}: {requests.taken} searches of {len(texts)} requests: some were asked again")
    return sides
