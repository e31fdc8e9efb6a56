"""Draws the pictures of docs/nnn.md from computed answers: python docs/figures/nnn.py [--data FOLDER].

The request and the APIs are ToolBench's (MIT, Apache-2.0); vectors are the shipped encoder's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import retrieval_text
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_models.runtime import load_encoder
from kitpick_rescorers.nnn import Corpus, NnnProblem, solve_active_set

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
DATA = HERE.parents[2] / "shared" / "data"
REQUEST = 0
"""The first request of the G3 subset: several tools are wanted."""
L1, L2 = 0.2, 0.1
GREY = "#bbbbbb"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
"""Okabe and Ito's palette."""


def main() -> None:
    """Writes three SVG files beside this one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    dataset = open_dataset("toolbench", parser.parse_args().data)
    documents = [item for item in dataset.source.read() if isinstance(item, ApiDocument)]
    request = [query for query in dataset.queries if query.subset.startswith("G3")][REQUEST]
    encoder = load_encoder()
    rows = encoder.encode([retrieval_text(document) for document in documents])
    query = encoder.encode([request.text])[0].astype(np.float64)
    names = [f"{document.tool} · {document.api}"[:44] for document in documents]
    print(request.text)
    complements(rows, query, names).write(HERE / "nnn-complements.svg")
    penalty_path(rows, query, names).write(HERE / "nnn-path.svg")
    proposition().write(HERE / "nnn-proposition.svg")


def complements(rows: NDArray[np.float32], query: NDArray[np.float64], names: list[str]) -> Drawing:
    """Cosine and weight of the nearest APIs, and of those chosen beyond them."""
    solution = solve_active_set(NnnProblem(rows, query, L1, L2))
    cosines = rows.astype(np.float64) @ query
    weights = np.zeros(len(rows))
    weights[solution.support] = solution.coefficients
    heaviest = solution.support[np.argsort(-solution.coefficients)][:10]
    shown = sorted({*np.argsort(-cosines)[:10].tolist(), *heaviest.tolist()}, key=lambda row: -cosines[row])
    drawing = Drawing(720, 60 + 24 * len(shown), "Cosine and weight of the APIs nearest to a request")
    drawing.words(330, 22, "cosine with the request", colour="#777777")
    drawing.words(540, 22, "weight in the decoded set", colour=COLOURS[0])
    for place, row in enumerate(shown):
        top = 36 + 24 * place
        drawing.words(320, top + 13, names[row], "end")
        drawing.box(330, top, 190 * cosines[row] / cosines.max(), 16, GREY)
        drawing.box(540, top, 160 * weights[row] / weights.max(), 16, COLOURS[0])
    return drawing


def penalty_path(rows: NDArray[np.float32], query: NDArray[np.float64], names: list[str]) -> Drawing:
    """Weights as the penalty falls."""
    from nnn.path import solve_path

    near = np.argsort(-(rows @ query.astype(np.float32)))[:512]
    path = solve_path(NnnProblem(Corpus(rows[near]), query, 0.1, L2))
    first = path.order_of_joining()[:6].tolist()
    penalties = np.array([point.shift for point in path.breakpoints]) + 0.1
    weights = np.zeros((len(penalties), len(near)))
    for place, point in enumerate(path.breakpoints):
        weights[place, point.solution.support] = point.solution.coefficients
    across = 60 + 400 * (penalties[0] - penalties) / (penalties[0] - penalties[-1])
    upwards = 300 - 250 * weights / weights.max()
    drawing = Drawing(820, 350, "Weights of the APIs as the penalty falls")
    drawing.line([(60, 40), (60, 300), (470, 300)], "#222222")
    drawing.words(60, 30, "weight")
    drawing.words(265, 335, "penalty λ1, falling", "middle")
    for at, penalty in ((60, penalties[0]), (460, penalties[-1])):
        drawing.words(at, 317, f"{penalty:.2f}", "middle")
    for row in np.flatnonzero(weights.any(axis=0)):
        if row not in first:
            drawing.line(list(zip(across, upwards[:, row], strict=True)), GREY, 1)
    label = 0.0
    for row in sorted(first, key=lambda row: upwards[-1, row]):
        colour = COLOURS[first.index(row)]
        drawing.line(list(zip(across, upwards[:, row], strict=True)), colour, 2)
        label = max(label + 15, upwards[-1, row] + 4)
        drawing.words(472, label, f"{first.index(row) + 1}. {names[near[row]]}", colour=colour)
    return drawing


def proposition() -> Drawing:
    """Directions of the query for which a document and its complement are found, with a twin of the first."""
    twin = np.array([0.95, 0.0, np.sqrt(1 - 0.95**2)])
    rows = np.stack([[1.0, 0.0, 0.0], twin, [0.0, 1.0, 0.0]]).astype(np.float32)
    angles = np.linspace(0, 90, 361)
    queries = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles)), 0 * angles], axis=1)
    dense = [set(np.argsort(-(rows @ query))[:2].tolist()) == {0, 2} and query[1] > 0 for query in queries]
    penalties = (0.0005, 0.01, 0.05, 0.2)
    decoded = [any(_support(rows, query, l1) == [0, 2] for l1 in penalties) for query in queries]
    drawing = Drawing(680, 150, "Queries for which the pair of a document and its complement is found")
    for top, name, found, colour in (
        (30, "dense, first two", dense, GREY),
        (70, "NNN, for some λ1", decoded, COLOURS[0]),
    ):
        drawing.words(150, top + 17, name, "end")
        met = angles[np.flatnonzero(found)]  # one interval each
        drawing.box(160 + 440 * met[0] / 90, top, 440 * (met[-1] - met[0]) / 90, 24, colour)
    drawing.line([(160, 104), (600, 104)], "#222222")
    for angle, words in ((0, "the first document"), (45, "45°"), (90, "its complement")):
        drawing.words(160 + 440 * angle / 90, 122, words, "middle")
    drawing.words(380, 142, "direction of the query", "middle")
    return drawing


def _support(rows: NDArray[np.float32], query: NDArray[np.float64], l1: float) -> list[int]:
    chosen: list[int] = solve_active_set(NnnProblem(rows, query, l1, 0.0)).support.tolist()
    return chosen


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


if __name__ == "__main__":
    main()
