"""Good clients with hostile ones beside them and without, in turn: what do they feel of each other?

The service, the good clients (this process) and the hostile ones are processes of their own. Phases with and
without hostile clients alternate (without, with, with, without, …), so that a machine that becomes faster or
slower meanwhile changes both sides alike. The good clients think between their requests for so long that they
alone would use half of the service.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import psutil
from serving.asking import Asked, ask, mixed_request
from serving.process import Served

PHASE_SECONDS = 60.0
"""Of a phase, at most."""
_WARM_UP = 10
"""Requests of one client alone, from which the others learn for how long to think."""
_SETTLE_SECONDS = 2.0
"""Between two phases, for what is under way."""


class Side(msgspec.Struct):
    """What good clients got in the phases of one kind."""

    asked: list[Asked] = []

    @property
    def p99(self) -> float:
        """Seconds of the slowest hundredth of the answers."""
        return float(np.percentile([item.seconds for item in self.asked], 99))

    @property
    def p50(self) -> float:
        """Seconds of half of the answers."""
        return float(np.percentile([item.seconds for item in self.asked], 50))

    @property
    def statuses(self) -> Counter[int]:
        """How many answers had which status; 0 is a connection that broke."""
        return Counter(item.status for item in self.asked)


class Crowd:
    """The process of the hostile clients."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.got: Counter[str] = Counter()
        self._line()

    def go(self) -> None:
        """They begin."""
        self._say("go")

    def stop(self) -> None:
        """They leave; `got` then counts their answers by status."""
        self._say("stop")
        self.got.update(json.loads(self._line()))

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def crowd(url: str, clients: int) -> Iterator[Crowd]:
    """Hostile clients of a service, waiting to begin, until the end of the block."""
    command = [sys.executable, "-m", "hostile.crowd", url, str(clients)]
    folder = Path(__file__).resolve().parents[1]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Crowd(process)
        finally:
            process.kill()


def soak(
    served: Served, texts: Sequence[str], minutes: float, clients: int, deadline: float, seed: int = 0
) -> dict[str, object]:
    """The figures of so many minutes: `clients` good ones, and in half of the time as many hostile ones.

    `p99_ratio` is the p99 of the good clients with hostile ones over that without; `errors_of_good` counts
    their answers that were not 200, on either side.
    """
    sides = (Side([]), Side([]))
    choice = random.Random(seed)
    phases = 4 * max(1, round(15 * minutes / PHASE_SECONDS))
    seconds = 60 * minutes / phases
    with crowd(served.url, clients) as hostile:
        thinks = 2 * clients * asyncio.run(_alone(served.url, texts, deadline, choice))
        memory = _resident(served)
        for with_crowd in itertools.islice(itertools.cycle((False, True, True, False)), phases):
            if with_crowd:
                hostile.go()
            load = Load(served.url, texts, deadline, thinks)
            sides[with_crowd].asked += asyncio.run(load.run(clients, seconds, choice.random()))
            if with_crowd:
                hostile.stop()
            time.sleep(_SETTLE_SECONDS)
        grown = _resident(served) - memory
        return _figures(*sides, hostile.got) | {"thinks": round(thinks, 2), "grown_mb": round(grown, 1)}


class Load(msgspec.Struct, frozen=True):
    """Good clients, who think between their requests, for `thinks` seconds on average."""

    url: str
    texts: Sequence[str]
    deadline: float
    thinks: float

    async def run(self, clients: int, seconds: float, seed: float) -> list[Asked]:
        """What they got who asked within so many seconds."""
        asked: list[Asked] = []
        until = time.perf_counter() + seconds
        await asyncio.gather(*(self._client(random.Random(seed + n), until, asked) for n in range(clients)))
        return asked

    async def _client(self, choice: random.Random, until: float, asked: list[Asked]) -> None:
        pause = choice.uniform(0, 2 * self.thinks)
        while time.perf_counter() + pause < until:
            await asyncio.sleep(pause)
            asked.append(await ask(self.url, mixed_request(choice, self.texts), self.deadline))
            pause = choice.uniform(0, 2 * self.thinks)


async def _alone(url: str, texts: Sequence[str], deadline: float, choice: random.Random) -> float:
    """Mean seconds of a request where nobody else asks."""
    asked = [await ask(url, mixed_request(choice, texts), deadline) for _ in range(_WARM_UP)]
    return sum(item.seconds for item in asked) / len(asked)


def _figures(without: Side, beside: Side, got: Counter[str]) -> dict[str, object]:
    return {
        "p99_ratio": round(beside.p99 / without.p99, 3),
        "errors_of_good": sum(
            count for side in (without, beside) for status, count in side.statuses.items() if status != 200
        ),
        "p50_ratio": round(beside.p50 / without.p50, 3),
        "p99_seconds": [round(side.p99, 3) for side in (without, beside)],
        "good": [dict(side.statuses) for side in (without, beside)],
        "hostile": dict(sorted(got.items())),
    }


def _resident(served: Served) -> float:
    """Mebibytes of memory of the service."""
    return float(psutil.Process(served.pid).memory_info().rss) / 2**20
