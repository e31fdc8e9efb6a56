"""More than a service can do, for long, for clients that come and go: does it keep memory and word?"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import psutil

from serving.asking import Asked, ask, mixed_request
from serving.process import Served

OVERLOAD = 1.5
"""Times what the service answered in the minute before: others may slow the machine down, or leave it."""
LEAVING = 0.1
"""Share of callers that leave before their answer, after up to two seconds."""
WARM_UP = 1 / 3
"""Of the time: until then caches fill, afterwards memory should stay."""
_SAMPLE_SECONDS = 5.0
_PACE_SECONDS = 60.0
_CLIENTS = 32


class Soak(msgspec.Struct, frozen=True):
    """What was seen."""

    capacities: list[float]
    """Requests a second that could be answered, by the minute."""
    asked: list[Asked]
    memory: list[tuple[float, float]]
    """Seconds since the start, and resident MB of the service."""
    deadline: float

    def figures(self) -> dict[str, float]:
        """What is to be reached: no `soak_errors`, `soak_p99_over_deadline` below 1, slope within noise."""
        statuses = Counter(item.status for item in self.asked)
        admitted = [item.seconds for item in self.asked if item.status == 200]
        slope, noise = self._slope()
        return {
            "soak_minutes": self.memory[-1][0] / 60,
            "soak_capacity_per_second": float(np.median(self.capacities)),
            "soak_requests": len(self.asked),
            "soak_answered": statuses[200],
            "soak_refused": statuses[429],
            "soak_left": sum(item.status == 0 and not item.broken for item in self.asked),
            "soak_errors": self.errors,
            "soak_p50_seconds": float(np.percentile(admitted, 50)),
            "soak_p99_seconds": float(np.percentile(admitted, 99)),
            "soak_p99_over_deadline": float(np.percentile(admitted, 99)) / self.deadline,
            "soak_memory_mb": self.memory[-1][1],
            "soak_memory_mb_per_hour": slope,
            "soak_memory_noise_mb_per_hour": noise,
        }

    @property
    def errors(self) -> int:
        """Answers that are neither 200 nor 429, and connections that broke."""
        return sum(item.broken or item.status not in {0, 200, 429} for item in self.asked)

    def _slope(self) -> tuple[float, float]:
        """Growth after the warm-up in MB an hour, and twice its standard error.

        Neighbouring samples resemble each other, so the error is that of the means of ten blocks.
        """
        seconds, sizes = np.array(self.memory).T
        late = seconds >= seconds[-1] * WARM_UP
        blocks = np.array_split(np.stack([seconds[late], sizes[late]]), 10, axis=1)
        x, y = np.array([block.mean(axis=1) for block in blocks]).T
        x = (x - x.mean()) / 3600
        slope = float(x @ y / (x @ x))
        left = y - y.mean() - slope * x
        return slope, 2 * float(np.sqrt(left @ left / (len(x) - 2) / (x @ x)))


def soak(served: Served, texts: Sequence[str], minutes: float, deadline: float, seed: int = 0) -> Soak:
    """Runs it: first what the service can do, then half as much again for so many minutes."""
    return asyncio.run(_soak(served, texts, minutes, deadline, random.Random(seed)))


async def _soak(
    served: Served, texts: Sequence[str], minutes: float, deadline: float, choice: random.Random
) -> Soak:
    pace = Pace(await _capacity(served.url, texts, deadline, choice))
    asked: list[Asked] = []
    memory: list[tuple[float, float]] = []
    under_way: set[asyncio.Task[None]] = set()
    watching = asyncio.create_task(_watch(served.pid, memory, asked))
    until = time.perf_counter() + 60 * minutes
    while time.perf_counter() < until:
        under_way.add(task := asyncio.create_task(_one(served.url, texts, deadline, choice, asked)))
        task.add_done_callback(under_way.discard)
        await asyncio.sleep(choice.expovariate(OVERLOAD * pace.capacity(asked)))
    await asyncio.gather(*under_way)
    watching.cancel()
    return Soak(pace.found, asked, memory, deadline)


class Pace:
    """What the service can do, measured anew every minute."""

    def __init__(self, first: float) -> None:
        self.found = [first]
        self._since, self._before = time.perf_counter(), 0

    def capacity(self, asked: Sequence[Asked]) -> float:
        """Requests a second. Where nothing was refused, it can do more than it was asked for."""
        seconds = time.perf_counter() - self._since
        if seconds >= _PACE_SECONDS:
            statuses = Counter(item.status for item in asked[self._before :])
            done = statuses[200] / seconds
            self.found.append(max(0.1, done) if statuses[429] else 1.2 * self.found[-1])
            self._since, self._before = time.perf_counter(), len(asked)
        return self.found[-1]


async def _one(
    url: str, texts: Sequence[str], deadline: float, choice: random.Random, asked: list[Asked]
) -> None:
    leaves = choice.uniform(0, 2) if choice.random() < LEAVING else None
    asked.append(await ask(url, mixed_request(choice, texts), deadline, leaves))


async def _capacity(
    url: str, texts: Sequence[str], deadline: float, choice: random.Random, seconds: float = 40
) -> float:
    """Answered requests a second of clients that ask one after another, after a short warm-up."""
    done: list[float] = []
    until = time.perf_counter() + 1.25 * seconds

    async def client() -> None:
        while time.perf_counter() < until:
            answer = await ask(url, mixed_request(choice, texts), deadline)
            if answer.status == 200:
                done.append(time.perf_counter())

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    return sum(until - seconds <= when < until for when in done) / seconds


async def _watch(pid: int, memory: list[tuple[float, float]], asked: Sequence[Asked]) -> None:
    process, started = psutil.Process(pid), time.perf_counter()
    while True:
        memory.append((time.perf_counter() - started, process.memory_info().rss / 1e6))
        if len(memory) % 24 == 1:
            seen = dict(Counter(item.status for item in asked))
            print(f"{memory[-1][0] / 60:5.1f} min {memory[-1][1]:7.1f} MB {seen}", flush=True)
        await asyncio.sleep(_SAMPLE_SECONDS)
