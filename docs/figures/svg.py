"""Just enough of SVG for a diagram: lines, bars and words, in colours that everybody can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
"""Okabe and Ito's palette."""


class Drawing:
    """A picture of a given size in pixels, origin at the top left."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        )
        self._parts: list[str] = []

    def line(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.5) -> None:
        """A polyline."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )

    def box(self, left: float, top: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle."""
        place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self._parts.append(f'<rect {place} fill="{colour}"/>')

    def words(self, x: float, y: float, text: str, anchor: str = "start", colour: str = "#222222") -> None:
        """Text whose baseline begins, ends or has its middle at a point."""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
        self._parts.append(f"<text {place}>{escape(text)}</text>")

    def write(self, path: Path) -> None:
        """Writes the file."""
        path.write_text(self._head + "\n".join(self._parts) + "</svg>\n", encoding="utf-8")
