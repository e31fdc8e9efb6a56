"""From values to places in a drawing, with round numbers along the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_WANTED = 5


class Scale(msgspec.Struct, frozen=True):
    """An axis from `low` to `high` drawn from `start` to `end`; logarithmic for values > 0 where `log`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value stands; values beyond the ends stand at the ends."""
        low, high, value = (self._warped(number) for number in (self.low, self.high, value))
        share = (value - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values within the axis, about five of them."""
        return _decades(self.low, self.high) if self.log else _round_steps(self.low, self.high)

    def _warped(self, value: float) -> float:
        return math.log10(max(value, 1e-9)) if self.log else value


def scale_for(
    values: Iterable[float], start: float, end: float, *, log: bool = False, zero: bool = False
) -> Scale:
    """An axis that holds all values with a little room; from zero where `zero`."""
    found = sorted(values) or [0.0, 1.0]
    low, high = found[0], found[-1]
    if log:
        return Scale(max(low, 1e-3) / 1.6, max(high, 1e-3) * 1.6, start, end, log=True)
    room = (high - low) * 0.1 or max(abs(high), 1.0) * 0.1
    return Scale(0.0 if zero else low - room, high + room, start, end)


def _round_steps(low: float, high: float) -> list[float]:
    raw = (high - low) / _WANTED
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(step * size for step in _STEPS if step * size >= raw)
    first = math.ceil(low / step)
    return [round(index * step, 10) for index in range(first, math.floor(high / step) + 1)]


def _decades(low: float, high: float) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [base * 10.0**exponent for exponent in exponents for base in (1, 2, 5)]
    within = [tick for tick in ticks if low <= tick <= high]
    return within if len(within) <= _WANTED + 2 else [tick for tick in within if f"{tick:e}".startswith("1")]
