"""Fixtures that every part shares, and the rule for what a test needs and does not find."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "nodes"))
sys.path.insert(0, str(Path(__file__).parent / "language_models"))
sys.path.insert(0, str(Path(__file__).parent / "decoding"))
sys.path.insert(0, str(Path(__file__).parent / "connections"))

from fake_endpoint import fake
from helm_program import has_helm
from jdk import INSTALL, INSTALL_GUARDED, find_guarded_java, has_jdk_and_maven
from node_fixtures import elasticsearch_url, opensearch_url

__all__ = ["elasticsearch_url", "fake", "opensearch_url"]

if importlib.util.find_spec("hypothesis") is not None:  # absent where only clients of others are tried
    from hypothesis import settings

    # An example may take as long as a busy machine needs: what is tested is never its speed.
    settings.register_profile("any machine", parent=settings(), deadline=None)
    settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "onnx_models" / "weights"
MODELS = (
    "minilm-l6", "reranker-l6", "reranker-l3", "query-kind", "list-ranker",
    "encoder-l12", "query-kind-l12", "list-ranker-l12", "reranker-l12", "list-ranker-r12",
)  # fmt: skip
SHARED_DATA = ROOT.parent / "shared" / "data"


def _has_module(*names: str) -> Callable[[], bool]:
    return lambda: all(importlib.util.find_spec(name) is not None for name in names)


def _bigtool_calls() -> bool:
    """Whether langgraph-bigtool is there, with a LangGraph that lets it call tools."""
    if not _has_module("langgraph_bigtool")():
        return False
    from langgraph.prebuilt import ToolNode

    return hasattr(ToolNode, "inject_tool_args")


def _browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


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
    "tune": (_has_module("optuna"), "pip install 'kitpick[tune]'"),
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
    "curl": (lambda: shutil.which("curl") is not None, "apt-get install curl"),
    "node": (
        lambda: _node_version() >= 20 and shutil.which("npm") is not None,
        "install node 20 or newer, with npm",
    ),
    "pydantic_ai": (_has_module("pydantic_ai"), "pip install 'kitpick[pydantic-ai]'"),
    "langchain_agents": (_has_module("langchain"), "pip install 'kitpick[langchain-agents]'"),
    "bigtool": (
        _bigtool_calls,
        "pip install 'kitpick[langgraph-bigtool]', in an environment of its own",
    ),
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


def pytest_configure(config: pytest.Config) -> None:
    unknown = required() - NEEDS.keys()
    if unknown:
        raise pytest.UsageError(f"KITPICK_REQUIRE names {sorted(unknown)}; known are {sorted(NEEDS)}")


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


@pytest.fixture(scope="session")
def browser() -> str:
    """A headless browser that can print what it made of a page."""
    require("browser")
    return str(_browser())
