"""Where demonstrations help jointly, choosing them in view of each other beats choosing each for itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.needs("torch")

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "demorank.py"


@pytest.fixture
def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("demorank_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_on_cases_that_nothing_was_trained_on(benchmark, tmp_path: Path) -> None:
    found = benchmark.experiment(tmp_path, learned=150, held_out=60)
    assert found["in view of the chosen"] > found["each for itself"] + 0.1
    assert found["the judge's own greedy choice"] - found["in view of the chosen"] < 0.03
