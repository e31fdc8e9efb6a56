"""Progress reports: their protocol, and reporters for pipes and for silence."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from kitpick_foundation.visible import one_line

Advance = Callable[[int], None]
"""Reports a number of items as done."""


class Progress(Protocol):
    """Receives phases, one after the other, never nested."""

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Advance]:
        """A phase of `total` items, None if unknown. The context gives the function that counts."""

    def note(self, text: str) -> None:
        """A note for a person, such as what the run waits for."""


@dataclass
class PhaseMeter:
    """Items, rate and remaining time of one phase. `clock` gives seconds."""

    name: str
    total: int | None
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def advance(self, count: int) -> None:
        """Adds `count` items."""
        self.done += count

    @property
    def elapsed(self) -> float:
        """Seconds since the phase began."""
        return self.clock() - self.started

    @property
    def rate(self) -> float:
        """Items a second on average, 0 at the beginning."""
        return self.done / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds to the end at the average rate, None where the total or the rate is unknown."""
        if self.total is None or self.rate == 0:
            return None
        return max(self.total - self.done, 0) / self.rate

    def line(self) -> str:
        """One line for a person: `embed: 1,200 of 19,000 (6 %), 210/s, 1 min 25 s left`."""
        if self.total:
            count = f"{self.done:,} of {self.total:,} ({100 * self.done // self.total} %)"
        else:
            count = f"{self.done:,}"
        parts = [f"{self.name}: {count}", pace(self.rate)]
        if self.eta is not None:
            parts.append(f"{duration(self.eta)} left")
        return ", ".join(parts)


def pace(rate: float) -> str:
    """`0.3/s`, `1,200/s`."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `1 min 25 s`, `2 h 03 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class NullProgress:
    """Reports nothing."""

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Advance]:
        """A phase that is not reported."""
        yield lambda count: None

    def note(self, text: str) -> None:
        """Ignores the text."""


class LineProgress:
    """A plain line every `interval` seconds and one at the end of each phase: for pipes and log files."""

    def __init__(
        self,
        stream: TextIO | None = None,
        interval: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._interval = interval
        self._clock = clock

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Advance]:
        """Prints while the phase runs, and a summary at its end unless it ends by an exception."""
        meter = PhaseMeter(name, total, self._clock)
        due = meter.started + self._interval

        def advance(count: int) -> None:
            nonlocal due
            meter.advance(count)
            if self._clock() >= due:
                due = self._clock() + self._interval
                self._print(meter.line())

        yield advance
        self._print(f"{name}: {meter.done:,} in {duration(meter.elapsed)}, {pace(meter.rate)}")

    def note(self, text: str) -> None:
        """Prints the text on a line of its own, whatever others wrote into it."""
        self._print(f"note: {one_line(text)}")

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class ProgressRecorder:
    """Passes everything on, and records the `seconds` of each phase and the `notes`."""

    def __init__(self, to: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []
        self._to = to

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Advance]:
        """A phase of the same name again adds to its seconds."""
        started = time.monotonic()
        try:
            with self._to.phase(name, total) as advance:
                yield advance
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started

    def note(self, text: str) -> None:
        """Records the text and passes it on."""
        self.notes.append(text)
        self._to.note(text)
