"""A process that serves for weeks must not grow."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from kitpick_service.server import steady_memory

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "serve"),
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no arenas"),
]
MAIN = "from kitpick.cli import main; main()"
ARENA = 64 * 2**20
"""Every arena but the first begins at a multiple of this, with a part in use and a reserve behind it."""


def arenas(pid: int) -> int:
    """How many a process has, the first one aside: a part in use at such an address, a reserve behind it."""
    spans = re.findall(r"^(\w+)-(\w+) (\S+) 00000000 00:00 0 *$", Path(f"/proc/{pid}/maps").read_text(), re.M)
    used = {int(end, 16) for start, end, rights in spans if rights == "rw-p" and int(start, 16) % ARENA == 0}
    return sum(rights == "---p" and int(start, 16) in used for start, _, rights in spans)


def arenas_under_load(**environment: str) -> int:
    """Of `kitpick serve`, after many requests at a time."""
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "serve", "--port", "0", "--set", "warm_up_seconds=0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1", **environment},
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[2]
            call = {"query": "weather", "texts": ["weather of a city", "a hotel"]}
            with ThreadPoolExecutor(16) as callers:
                asked = callers.map(lambda _: httpx2.post(f"{url}/rerank", json=call, timeout=60), range(64))
                assert {answer.status_code for answer in asked} == {200}
            return arenas(process.pid)
        finally:
            process.kill()


def test_threads_share_few_arenas() -> None:
    assert arenas_under_load() <= 2


def test_an_operators_own_choice_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arenas_under_load(MALLOC_ARENA_MAX="16") > 2
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=16")
    assert not steady_memory()
