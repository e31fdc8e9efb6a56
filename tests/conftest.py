"""Fixtures that every part shares, and the rule for what a test needs and does not find."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_endpoint import fake
from helm_program import has_helm
from jdk import INSTALL, INSTALL_GUARDED, find_guarded_java, has_jdk_and_maven
from node_fixtures import elasticsearch_url, opensearch_url
from once import this_run
from outside import mark_outside
from resumed import resume
from shared_certificates import read_once
from shared_models import share, unshared
from sizes import LARGE
from unsynced import unsync

__all__ = ["elasticsearch_url", "fake", "opensearch_url"]

if importlib.util.find_spec("hypothesis") is not None:  # absent where only clients of others are tried
    from hypothesis import HealthCheck, settings

    # An example may take as long as a busy machine needs: what is tested is never its speed. The examples are
    # the same each time, so that a run can be repeated; a release tries some that nobody saw before.
    chosen = {} if LARGE else {"derandomize": True, "database": None}
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        "any machine", parent=settings(**chosen, deadline=None, suppress_health_check=slow)
    )
    settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "onnx_models" / "weights"
MODELS = (
    "encoder-pair", "reranker-l6", "query-kind-pair", "list-ranker-pair",
    "minilm-l6", "query-kind", "list-ranker",
)  # fmt: skip
SHARED_DATA = ROOT.parent / "shared" / "data"


def _has_module(*names: str) -> Callable[[], bool]:
    return lambda: all(importlib.util.find_spec(name) is not None for name in names)


def _browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _traces() -> bool:
    """Whether system calls can be traced here, without slowing down those that nobody asks for."""
    strace = shutil.which("strace")
    command = [str(strace), "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, "true"]
    return strace is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _node_version() -> int:
    """The first number of it, 0 where there is no node."""
    node = shutil.which("node")
    if node is None:
        return 0
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    number = said.strip().removeprefix("v").partition(".")[0]
    return int(number) if number.isdigit() else 0


NEEDS: dict[str, tuple[Callable[[], bool], str]] = {
    "data": (SHARED_DATA.is_dir, "the research data folder ../shared/data is absent"),
    "weights": (
        lambda: all((WEIGHTS / name / "manifest.json").is_file() for name in MODELS),
        f"the models {', '.join(MODELS)} are not all in onnx_models/weights",
    ),
    "onnxruntime": (_has_module("onnxruntime"), "pip install 'kitpick[cpu]'"),
    "botocore": (_has_module("botocore"), "pip install 'kitpick[aws]'"),
    "llm": (_has_module("httpx2"), "pip install 'kitpick[llm]'"),
    "numba": (_has_module("numba"), "pip install 'kitpick[fast]'"),
    "mcp": (_has_module("mcp"), "pip install 'kitpick[mcp]'"),
    "serve": (
        _has_module("starlette", "uvicorn", "prometheus_client", "httpx2"),
        "pip install 'kitpick[serve,client]'",
    ),
    "tokens": (_has_module("jwt", "cryptography", "joserfc"), "pip install 'kitpick[serve,dev]'"),
    "traces": (
        lambda: _has_module("opentelemetry")() and _has_module("opentelemetry.sdk")(),
        "pip install 'kitpick[traces]'",
    ),
    "clients": (
        _has_module(
            *("cohere", "openai", "haystack", "langchain_cohere", "llama_index", "schemathesis"),
            *("agents", "anthropic", "fastapi", "litellm"),
        ),
        "pip install 'kitpick[clients]'",
    ),
    "eval": (_has_module("ir_measures", "scipy"), "pip install 'kitpick[eval]'"),
    "torch": (_has_module("torch"), "pip install 'kitpick[train]'"),
    "jdk": (has_jdk_and_maven, INSTALL),
    "guarded_java": (lambda: find_guarded_java() is not None, INSTALL_GUARDED),
    "opensearch": (
        lambda: has_jdk_and_maven() and _has_module("opensearchpy")(),
        f"{INSTALL}; pip install 'kitpick[opensearch]'",
    ),
    "elasticsearch": (
        lambda: has_jdk_and_maven() and _has_module("elasticsearch")(),
        f"{INSTALL}; pip install 'kitpick[elasticsearch]'",
    ),
    "browser": (lambda: _browser() is not None, "apt-get install chromium"),
    "page": (
        lambda: _browser() is not None and _has_module("playwright", "axe_playwright_python")(),
        "apt-get install chromium; pip install 'kitpick[browser]'",
    ),
    "helm": (has_helm, "install Helm 3 or newer"),
    "strace": (_traces, "apt-get install strace, where a process may be traced"),
    "curl": (lambda: shutil.which("curl") is not None, "apt-get install curl"),
    "node": (
        lambda: _node_version() >= 20 and shutil.which("npm") is not None,
        "install node 20 or newer, with npm",
    ),
    "pydantic_ai": (_has_module("pydantic_ai"), "pip install 'kitpick[pydantic-ai]'"),
    "langchain_agents": (_has_module("langchain"), "pip install 'kitpick[langchain-agents]'"),
    "strands": (_has_module("strands"), "pip install 'kitpick[strands]', beside no newer mcp"),
    "adk": (
        lambda: _has_module("google")() and _has_module("google.adk")(),
        "pip install 'kitpick[google-adk]', in an environment of its own",
    ),
    "google": (_has_module("googleapiclient"), "pip install google-api-python-client"),
}
"""What a test can need: how to find out, and what to say where it is absent."""


def required() -> set[str]:
    """Names whose absence is an error: the variable KITPICK_REQUIRE, separated by commas."""
    return {name.strip() for name in os.environ.get("KITPICK_REQUIRE", "").split(",") if name.strip()}


QUICK_START = "-XX:TieredStopAtLevel=1"
"""Java's fast compiler alone: the thorough one takes as much processor as a node needs to start, and pays
after minutes. Benchmarks have both."""


def pytest_configure(config: pytest.Config) -> None:
    unknown = required() - NEEDS.keys()
    if unknown:
        raise pytest.UsageError(f"KITPICK_REQUIRE names {sorted(unknown)}; known are {sorted(NEEDS)}")
    config.add_cleanup(this_run().end)
    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK_START)  # of nodes, and of Maven
    resume(config)
    read_once()
    share()
    unsync()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays: the garbage collector does not go through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from scheduling import ByFile

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_outside(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        from scheduling import longest_first

        longest_first(items)


def require(name: str) -> None:
    """Skips the running test with the reason where `name` is absent; fails it where it is required."""
    present, reason = NEEDS[name]
    if present():
        return
    if name in required():
        pytest.fail(f"KITPICK_REQUIRE names {name!r}, but: {reason}", pytrace=False)
    pytest.skip(reason)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            require(name)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The research data; tests that use it skip with the reason where it is absent."""
    require("data")
    return SHARED_DATA


@pytest.fixture
def own_models() -> Iterator[None]:
    """For tests of how models are loaded: they share none with others."""
    with unshared():
        yield


@pytest.fixture(scope="session")
def broken_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of a cross-encoder whose weights are lost: it is named rightly, and cannot be loaded."""
    folder = tmp_path_factory.mktemp("models") / "broken-model"
    folder.mkdir()
    shutil.copy(WEIGHTS / "reranker-l6" / "manifest.json", folder)
    return str(folder)


@pytest.fixture(scope="session")
def browser() -> str:
    """A headless browser that can print what it made of a page."""
    require("browser")
    return str(_browser())
