"""The capacity model says what was measured, and behaves as one expects where nobody measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick.capacity import (
    BUSY,
    PAIR_CORE_MS,
    SHARD_GB,
    Demand,
    bytes_per_document,
    plan_capacity,
    search_core_ms,
)

FIGURES = Path(__file__).resolve().parents[2] / "benchmarks" / "figures"
MEASURED = [
    pytest.param(json.loads(file.read_text("utf-8")), id=file.stem)
    for file in sorted(FIGURES.glob("large_catalog_*.json"))
]
COMMAND = [sys.executable, "-W", "error", "-c", "from kitpick.cli import main; main()"]

demands = st.builds(
    Demand,
    apis=st.floats(1, 1e10),
    qps=st.floats(0, 1e5),
    dimensions=st.integers(1, 4_096),
    pairs=st.integers(0, 200),
    replicas=st.integers(0, 3),
    latency=st.floats(1, 1_000),
    node_cores=st.integers(1, 128),
    node_gb=st.integers(1, 1_024),
)


def test_it_was_measured_at_three_sizes() -> None:
    assert len(MEASURED) == 3


@pytest.mark.parametrize("figures", MEASURED)
def test_disk_is_as_measured(figures) -> None:
    assert bytes_per_document(384) == pytest.approx(figures["bytes_per_document"], rel=0.25)


@pytest.mark.parametrize("figures", MEASURED)
def test_processor_time_of_a_search_is_as_measured(figures) -> None:
    measured = figures["hybrid_ms"]["server_cpu"]
    assert search_core_ms(figures["documents"], shards=1) == pytest.approx(measured, rel=0.3)


@pytest.mark.parametrize("figures", MEASURED)
def test_memory_holds_what_a_search_reads(figures) -> None:
    planned = plan_capacity(Demand(apis=figures["documents"], qps=0))
    assert planned.shards == 1
    assert planned.memory_gb < figures["memory_searching"]["rss_gb"] + figures["disk_gb"]


@given(demands)
def test_a_plan_fits_its_demand(demand: Demand) -> None:
    found = plan_capacity(demand)
    assert found.copies >= 1 + demand.replicas
    assert found.disk_gb / found.shards <= SHARD_GB + 1e-6
    assert found.nodes * demand.node_cores >= found.search_cores - 1e-6
    assert found.memory_gb * found.copies <= found.nodes * demand.node_gb
    rescored = 1e3 * BUSY * found.rescorer_copies * demand.rescorer_cores
    assert rescored >= demand.qps * demand.pairs * PAIR_CORE_MS - 1e-6
    assert [each.cores for each in found.drivers] == sorted(
        (each.cores for each in found.drivers), reverse=True
    )


@given(demands)
def test_more_of_anything_never_costs_less(demand: Demand) -> None:
    less, more = plan_capacity(demand), plan_capacity(double(demand))
    assert more.shards >= less.shards
    assert more.total_disk_gb >= less.total_disk_gb * 0.999
    assert more.search_cores >= less.search_cores
    assert more.rescorer_copies >= less.rescorer_copies


def double(demand: Demand) -> Demand:
    from msgspec.structs import replace

    return replace(demand, apis=2 * demand.apis, qps=2 * demand.qps)


def run(*arguments: str) -> str:
    return subprocess.run([*COMMAND, "plan", *arguments], capture_output=True, text=True, check=True).stdout


def test_the_command_prints_a_plan() -> None:
    told = run("--apis", "100e6", "--qps", "5000")
    for name in (
        "shards",
        "memory of one copy",
        "disk of all copies",
        "copies of the rescorer",
        "cost driver",
    ):
        assert name in told
    assert json.loads(run("--apis", "1e6", "--qps", "10", "--json"))["shards"] == 1
