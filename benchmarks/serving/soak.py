"""More than a service can do, for long, for clients that come and go: does it keep memory and word?"""

from __future__ import annotations

import asyncio
import itertools
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
_SAMPLE_SECONDS = 1.0
_PAUSE_SECONDS = 3.0
"""The clients stood still for so long: so did the service, for others need the machine and stop both."""
_PACE_SECONDS = 60.0
_CLIENTS = 32


class Soak(msgspec.Struct, frozen=True):
    """What was seen."""

    capacities: list[float]
    """Requests a second that could be answered, by the minute."""
    asked: list[Asked]
    memory: list[tuple[float, float]]
    """Time by `time.perf_counter`, and resident MB of the service."""
    deadline: float

    @property
    def pauses(self) -> list[tuple[float, float]]:
        """When both sides were stopped, from and to."""
        times = [time for time, _ in self.memory]
        return [(a, b) for a, b in itertools.pairwise(times) if b - a > _SAMPLE_SECONDS + _PAUSE_SECONDS]

    @property
    def counted(self) -> list[Asked]:
        """Requests without those that were under way at a pause: no deadline holds through one."""
        return [
            item
            for item in self.asked
            if not any(item.started < b and a < item.started + item.seconds for a, b in self.pauses)
        ]

    def figures(self) -> dict[str, float]:
        """What is to be reached: no `soak_errors`, `soak_p99_over_deadline` below 1, slope within noise.

        Errors are answers that are neither 200 nor 429, and connections that broke.
        """
        counted = self.counted
        statuses = Counter(item.status for item in counted)
        admitted = [item.seconds for item in counted if item.status == 200]
        slope, noise = self._slope()
        paused = sum(b - a for a, b in self.pauses)
        return {
            "soak_minutes": (self.memory[-1][0] - self.memory[0][0] - paused) / 60,
            "soak_paused_minutes": paused / 60,
            "soak_capacity_per_second": float(np.median(self.capacities)),
            "soak_requests": len(counted),
            "soak_requests_at_pauses": len(self.asked) - len(counted),
            "soak_answered": statuses[200],
            "soak_refused": statuses[429],
            "soak_left": sum(item.status == 0 and not item.broken for item in counted),
            "soak_errors": sum(item.broken or item.status not in {0, 200, 429} for item in counted),
            "soak_p50_seconds": float(np.percentile(admitted, 50)),
            "soak_p99_seconds": float(np.percentile(admitted, 99)),
            "soak_p99_over_deadline": float(np.percentile(admitted, 99)) / self.deadline,
            "soak_memory_mb": self.memory[-1][1],
            "soak_memory_mb_per_hour": slope,
            "soak_memory_noise_mb_per_hour": noise,
        }

    def _slope(self) -> tuple[float, float]:
        """Growth after the warm-up in MB an hour, and twice its standard error; pauses take no time.

        Neighbouring samples resemble each other, so the error is that of the means of ten blocks.
        """
        times, sizes = np.array(self.memory).T
        steps = np.diff(times, prepend=times[0])
        seconds = np.where(steps > _SAMPLE_SECONDS + _PAUSE_SECONDS, _SAMPLE_SECONDS, steps).cumsum()
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
        before, wait = time.perf_counter(), choice.expovariate(OVERLOAD * pace.capacity(asked))
        await asyncio.sleep(wait)
        stood = time.perf_counter() - before - wait
        if stood > _PAUSE_SECONDS:
            until += stood
            pace.begin_anew(asked)
    await asyncio.gather(*under_way)
    watching.cancel()
    return Soak(pace.found, asked, memory, deadline)


class Pace:
    """What the service can do, measured anew every minute."""

    def __init__(self, first: float) -> None:
        self.found = [first]
        self.begin_anew(())

    def begin_anew(self, asked: Sequence[Asked]) -> None:
        """Another minute."""
        self._since, self._before = time.perf_counter(), len(asked)

    def capacity(self, asked: Sequence[Asked]) -> float:
        """Requests a second. Where nothing was refused, it can do more than it was asked for."""
        seconds = time.perf_counter() - self._since
        if seconds >= _PACE_SECONDS:
            statuses = Counter(item.status for item in asked[self._before :])
            done = statuses[200] / seconds
            self.found.append(max(0.1, done) if statuses[429] else 1.2 * self.found[-1])
            self.begin_anew(asked)
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
        memory.append((time.perf_counter(), process.memory_info().rss / 1e6))
        if len(memory) % 120 == 1:
            seen = dict(Counter(item.status for item in asked))
            print(f"{(memory[-1][0] - started) / 60:5.1f} min {memory[-1][1]:7.1f} MB {seen}", flush=True)
        await asyncio.sleep(_SAMPLE_SECONDS)
