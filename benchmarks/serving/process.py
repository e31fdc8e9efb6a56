"""`kitpick serve` in a process of its own, and the texts it is asked about."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_ingest.opening import open_source

UNCACHED = ("score_cache=0", "log_level=warning")
"""Settings under which no score is remembered: what a model's speed is compared by."""


class Served(msgspec.Struct, frozen=True):
    """Where a service listens, and its process."""

    url: str
    pid: int


@contextmanager
def serving(settings: Sequence[str] = UNCACHED, options: Sequence[str] = ()) -> Iterator[Served]:
    """`kitpick serve` with these settings (`NAME=VALUE`) until the end of the block."""
    command = [
        sys.executable,
        "-c",
        "from kitpick.cli import main; main()",
        "serve",
        "--port",
        "0",
        *options,
    ]
    command += [part for setting in settings for part in ("--set", setting)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        if "kitpick serves" not in first:
            raise SystemExit(first + process.stderr.read())
        try:
            yield Served(first.split()[2], process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


def tool_texts(data: Path) -> list[str]:
    """The rerank texts of ToolBench's tools."""
    return [rerank_text(item) for item in _tools(data)]


def tool_apis(data: Path, count: int) -> list[ApiDocument]:
    """So many of ToolBench's APIs, spread evenly."""
    found = list(_tools(data))
    return found[:: max(1, len(found) // count)][:count]


def tool_requests(data: Path, count: int) -> list[str]:
    """The first requests of ToolBench dev."""
    return [query.text for query in open_dataset("toolbench", data).queries[:count]]


def _tools(data: Path) -> Iterator[ApiDocument]:
    documents = open_source(f"toolbench:{data / 'toolbench' / 'apis.jsonl'}", name="toolbench").read()
    return (item for item in documents if isinstance(item, ApiDocument))
