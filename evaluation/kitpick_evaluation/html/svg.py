"""Charts as inline SVG. Colours are classes, so that the page decides them for light and dark.

A scale takes values to places in a drawing, with round numbers along the axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

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
        """Position of a value; values beyond the ends are placed at the ends."""
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


WIDTH, HEIGHT = 560, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 14, 44
_LETTER = 6.6
"""Width of a letter of a label, about."""
_MOST_LETTERS = 36


class Point(msgspec.Struct, frozen=True):
    """One system in a scatter plot; `series` picks the colour."""

    x: float
    y: float
    label: str
    series: int


class Bar(msgspec.Struct, frozen=True):
    """A bar with its interval; `series` picks the colour."""

    value: float
    low: float
    high: float
    label: str
    series: int


def scatter(title: str, points: Sequence[Point], x_label: str, y_label: str, *, log_x: bool = False) -> str:
    """Points with their names beside them."""
    x = scale_for([point.x for point in points], _LEFT, WIDTH - _RIGHT, log=log_x)
    y = scale_for([point.y for point in points], HEIGHT - _BOTTOM, _TOP)
    marks = [
        f'<circle class="s{point.series}" cx="{x.place(point.x):.1f}" cy="{y.place(point.y):.1f}" r="5">'
        f"<title>{escape(point.label)}: {point.x:.4g}, {point.y:.4g}</title></circle>"
        for point in points
    ]
    return _drawing(title, [*_axes(x, y, x_label, y_label), *marks, *_names(points, x, y)])


def lines(
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    x_label: str,
    y_label: str,
    *,
    log_x: bool,
) -> str:
    """One line a series over x, y in [0, 1], with a legend."""
    values = [place for places in series.values() for place, _ in places]
    x = scale_for(values, _LEFT, WIDTH - _RIGHT, log=log_x)
    y = Scale(0.0, 1.02, HEIGHT - _BOTTOM, _TOP)
    drawn = [
        f'<polyline class="l{index}" points="'
        + " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in places)
        + f'"><title>{escape(name)}</title></polyline>'
        for index, (name, places) in enumerate(series.items())
    ]
    return _drawing(title, [*_axes(x, y, x_label, y_label), *drawn]) + legend(series)


def reliability_diagram(title: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Stated probability against the share that was relevant; on the diagonal both agree."""
    x = Scale(0.0, 1.02, _LEFT, WIDTH - _RIGHT)
    y = Scale(0.0, 1.02, HEIGHT - _BOTTOM, _TOP)
    diagonal = (
        f'<line class="grid dashed" x1="{x.place(0):.1f}" y1="{y.place(0):.1f}" '
        f'x2="{x.place(1):.1f}" y2="{y.place(1):.1f}"/>'
    )
    drawn = []
    for index, places in enumerate(series.values()):
        path = " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in places)
        drawn.append(f'<polyline class="l{index}" points="{path}"/>')
        drawn += [
            f'<circle class="s{index}" cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="4"/>' for a, b in places
        ]
    axes = _axes(x, y, "stated probability", "share that was relevant")
    return _drawing(title, [*axes, diagonal, *drawn]) + legend(series)


def bars(title: str, groups: Mapping[str, Sequence[Bar]], y_label: str) -> str:
    """Groups of bars from zero, with whiskers for the intervals; as wide as it needs."""
    size = max((len(group) for group in groups.values()), default=1)
    thick = 14.0
    step = max(size * thick + 22, _LETTER * max((len(name) for name in groups), default=1) + 12)
    width = max(WIDTH, _LEFT + _RIGHT + step * len(groups))
    top = max((bar.high for group in groups.values() for bar in group), default=1.0)
    y = Scale(0.0, max(top, 0.01) * 1.05, HEIGHT - _BOTTOM, _TOP)
    parts = _axis_y(y, y_label, width - _RIGHT)
    for index, (name, group) in enumerate(groups.items()):
        middle = _LEFT + step * (index + 0.5)
        left = middle - len(group) * thick / 2
        parts += [_bar(bar, y, left + place * thick, thick - 2) for place, bar in enumerate(group)]
        parts.append(_text(middle, HEIGHT - _BOTTOM + 16, name, "middle"))
    names = {bar.label: bar.series for group in groups.values() for bar in group}
    ordered = sorted(names, key=lambda name: names[name])
    return _drawing(title, parts, width) + legend(ordered)


def legend(names: Iterable[str]) -> str:
    """Names with their colours."""
    entries = "".join(
        f'<li><svg class="key" viewBox="0 0 12 12" aria-hidden="true"><rect class="s{index}" width="12" '
        f'height="12" rx="2"/></svg>{escape(name)}</li>'
        for index, name in enumerate(names)
    )
    return f'<ul class="legend">{entries}</ul>'


def _bar(bar: Bar, y: Scale, left: float, thick: float) -> str:
    top, bottom, middle = y.place(bar.value), y.place(0.0), left + thick / 2
    return (
        f'<rect class="s{bar.series}" x="{left:.1f}" y="{top:.1f}" width="{thick:.1f}" '
        f'height="{max(0.0, bottom - top):.1f}"><title>{escape(bar.label)}: {bar.value:.3f} '
        f"({bar.low:.3f}–{bar.high:.3f})</title></rect>"
        f'<line class="whisker" x1="{middle:.1f}" y1="{y.place(bar.low):.1f}" x2="{middle:.1f}" '
        f'y2="{y.place(bar.high):.1f}"/>'
    )


def _axes(x: Scale, y: Scale, x_label: str, y_label: str) -> list[str]:
    bottom = HEIGHT - _BOTTOM
    parts = _axis_y(y, y_label, WIDTH - _RIGHT)
    for tick in x.ticks():
        place = x.place(tick)
        parts.append(f'<line class="grid" x1="{place:.1f}" y1="{_TOP}" x2="{place:.1f}" y2="{bottom}"/>')
        parts.append(_text(place, bottom + 16, f"{tick:g}", "middle"))
    return [*parts, _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 8, x_label, "middle")]


def _axis_y(y: Scale, label: str, right: float) -> list[str]:
    parts = []
    for tick in y.ticks():
        place = y.place(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{place:.1f}" x2="{right:.1f}" y2="{place:.1f}"/>')
        parts.append(_text(_LEFT - 6, place + 4, f"{tick:g}", "end"))
    middle = (HEIGHT - _BOTTOM + _TOP) / 2
    turned = f'<text class="label" transform="translate(14 {middle:.0f}) rotate(-90)" text-anchor="middle">'
    return [*parts, f"{turned}{escape(label)}</text>"]


def _names(points: Sequence[Point], x: Scale, y: Scale) -> list[str]:
    """Names beside their points, pushed down where they would cover another one."""
    taken: list[tuple[float, float, float]] = []
    drawn = []
    for point in sorted(points, key=lambda point: y.place(point.y)):
        label = _clipped(point.label)
        width = _LETTER * len(label)
        at_end = x.place(point.x) + 9 + width > WIDTH
        left = x.place(point.x) - 9 - width if at_end else x.place(point.x) + 9
        line = y.place(point.y) + 4
        while any(
            abs(line - other) < 13 and left < end and begin < left + width for begin, end, other in taken
        ):
            line += 13
        taken.append((left, left + width, line))
        drawn.append(_text(left, line, label, "start"))
    return drawn


def _clipped(label: str) -> str:
    """A name that fits beside its point; the tooltip has all of it."""
    return label if len(label) <= _MOST_LETTERS else f"{label[: _MOST_LETTERS - 1]}…"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _drawing(title: str, parts: Sequence[str], width: float = WIDTH) -> str:
    body = "".join(parts)
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width:.0f} {HEIGHT}" style="width:{width:.0f}px">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )
