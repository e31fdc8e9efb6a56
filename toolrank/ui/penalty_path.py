"""NNN coefficients along the penalty: which APIs the request asks for first, and who gives way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolrank.ui.protocol import PathLine, PenaltyPath
from toolrank_engines.contract import Candidate, Vector
from toolrank_rescorers.nnn import Path, Problem, solve_path
from toolrank_rescorers.profiles import Profile, load_profile
from toolrank_rescorers.stages import Decode
from toolrank_rescorers.state import Ranked, unit_vectors

MAX_CANDIDATES = 200
MAX_LINES = 8
_END = 0.1
"""λ1 at which the path ends at the latest."""
_MAX_SUPPORT = 24
_POINTS = 60


def penalty_path(
    head: Sequence[tuple[int, Candidate]], vector: Vector, profile: Profile
) -> PenaltyPath | None:
    """The path over the first candidates, by vectors alone; None where none of them has a usable vector.

    Args:
        head: position and candidate, in first-stage order.
        vector: the query's (d,).
        profile: if it decodes, its penalties are taken.
    """
    shown = head[:MAX_CANDIDATES]
    ranked = [Ranked(item, item.tool_key, rank) for rank, (_, item) in enumerate(shown, start=1)]
    query = vector.astype(np.float64)
    length = float(np.linalg.norm(query))
    rows, unusable = unit_vectors(ranked, len(query))
    if unusable == len(ranked) or not np.isfinite(length) or not length:
        return None
    decode = _decode(profile)
    end = min(_END, decode.l1 / 2)
    path = solve_path(Problem(rows, query / length, end, decode.l2), max_support=_MAX_SUPPORT)
    shifts = _shifts(path)
    return PenaltyPath(
        penalties=tuple(end + shift for shift in shifts),
        lines=_lines(path, shifts, [place for place, _ in shown]),
        l1=decode.l1,
        l2=decode.l2,
        candidates=len(shown),
        exact=path.exact,
    )


def _decode(profile: Profile) -> Decode:
    stages = (*profile.stages, *load_profile("nnn").stages)
    return next(stage for stage in stages if isinstance(stage, Decode))


def _shifts(path: Path) -> list[float]:
    """Where the path is read: at its breakpoints, or at some of them; between two it is straight."""
    shifts = [point.shift for point in path.breakpoints]
    if len(shifts) <= _POINTS:
        return shifts
    places = np.linspace(0, len(shifts) - 1, _POINTS).round().astype(int)
    return [shifts[place] for place in places]


def _lines(path: Path, shifts: Sequence[float], places: Sequence[int]) -> tuple[PathLine, ...]:
    """The first to join, with a coefficient at every shift."""
    points = [dict(zip(*(part.tolist() for part in path.at(shift)), strict=True)) for shift in shifts]
    return tuple(
        PathLine(places[row], tuple(point.get(row, 0.0) for point in points))
        for row in path.order_of_joining()[:MAX_LINES].tolist()
    )
