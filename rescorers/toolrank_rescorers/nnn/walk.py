"""The homotopy on a Gram matrix: from nothing chosen to the penalties of the state, event by event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.factor import solve
from toolrank_rescorers.nnn.pivoting import DEPENDENT, State, drop, enter, minimise

_STALLED = 1e-12
"""A step shorter than this, relative to where the walk began, is no progress."""
_MAX_TIES = 50
_SLACK = 1e-12
_NUDGE = 1e-7
_MAX_POINTS = 10_000


@dataclass(frozen=True, eq=False)
class Point:
    """An event of the walk: the state after it, at penalties l1 + shift."""

    shift: float
    active: Rows
    """Positions in the working set."""
    z: Float64
    position: int
    """What joined or left; −1 at the ends and where the walk was taken up anew."""
    joins: bool


class _Walker:
    """Active rows at a shift τ, with e = D_W r − l1 − τ of all rows."""

    def __init__(self, state: State) -> None:
        self.state = state._replace(
            factor=np.zeros_like(state.factor), active=np.zeros_like(state.active), z=np.zeros_like(state.z)
        )
        self.k = 0
        self.shift = self.start = max(0.0, float(state.linear.max(initial=0.0)))
        self.last_left = -1
        self.nudge = _NUDGE * self.start

    @property
    def active(self) -> Rows:
        return self.state.active[: self.k]

    @property
    def z(self) -> Float64:
        return self.state.z[: self.k]

    def point(self, position: int, *, joins: bool) -> Point:
        return Point(self.shift, self.active.copy(), self.z.copy(), position, joins)

    def next_event(self) -> tuple[float, int, bool]:
        """How far τ falls until a row joins or leaves, which one (a position), and whether it joins."""
        gram, linear = self.state.gram, self.state.linear
        growth = solve(self.state.factor, self.k, np.ones(self.k))
        excess = linear - self.shift - self.z @ gram[self.active]
        rate = 1.0 - growth @ gram[self.active]
        rate[self.active] = 0.0
        if self.last_left >= 0:
            rate[self.last_left] = 0.0
        joining = np.where(
            rate > _STALLED, np.maximum(-excess, 0.0) / np.where(rate > _STALLED, rate, 1.0), np.inf
        )
        leaving = np.where(growth < 0, self.z / np.where(growth < 0, -growth, 1.0), np.inf)
        first = int(joining.argmin())
        if self.k and leaving.min() <= joining[first]:
            return float(leaving.min()), int(self.active[leaving.argmin()]), False
        return float(joining[first]), first, True

    def move(self, step: float) -> bool:
        """Lets τ fall and solves for the active rows anew, so that rounding does not add up.

        Returns:
            Whether the outcome is optimal: ties and nearly dependent rows can mislead the walk.
        """
        self.shift = max(0.0, self.shift - step)
        gram, active = self.state.gram, self.active
        right = self.state.linear[active] - self.shift
        z = solve(self.state.factor, self.k, right)
        z += solve(self.state.factor, self.k, right - gram[np.ix_(active, active)] @ z - self.state.l2 * z)
        self.state.z[: self.k] = np.maximum(0.0, z)
        excess = self.state.linear - self.shift - z @ gram[active]
        excess[active] = 0.0
        slack = _SLACK * (100.0 + float(np.abs(z).max(initial=0.0)))
        return bool(z.min(initial=0.0) >= -slack and excess.max() <= slack)

    def apply(self, position: int, *, joins: bool) -> bool:
        """Changes the active set; False where the row depends on those that are active."""
        if joins:
            grown = enter(self.state, self.k, position, DEPENDENT)
            self.last_left = -1
            changed, self.k = grown > self.k, grown
            return changed
        self.k = drop(self.state, self.k, self.active == position)
        self.last_left = position
        return True

    def take_up_anew(self) -> None:
        """Solves a little further down by the active-set method: past ties and dependent rows."""
        self.shift = max(0.0, self.shift - self.nudge)
        self.nudge *= 2.0
        here = self.state._replace(linear=self.state.linear - self.shift)
        self.k, _ = minimise(here, self.k, _STALLED, _MAX_POINTS)
        self.last_left = -1


def walk(state: State, max_support: int) -> list[Point]:
    """Every event from the largest correlation down to shift 0, or until `max_support` rows are active.

    The working arrays of the state are left alone.
    """
    walker = _Walker(state)
    points = [walker.point(-1, joins=False)]
    stalls = 0
    while walker.shift > 0.0 and walker.k < max_support and len(points) < _MAX_POINTS:
        step, position, joins = walker.next_event()
        ends = step >= walker.shift
        stalls = stalls + 1 if step <= _STALLED * walker.start else 0
        sound = walker.move(min(step, walker.shift)) and stalls <= _MAX_TIES
        if sound and ends:
            break
        # A row that leaves at a weight which rounding kept from 0 must not take its part with it.
        if sound and walker.apply(position, joins=joins) and (joins or walker.move(0.0)):
            points.append(walker.point(position, joins=joins))
            walker.nudge = _NUDGE * walker.start
        else:
            # What is taken up anew may weigh dependent rows otherwise: up to a hair before, all was linear.
            if walker.move(-0.5 * walker.nudge) and walker.shift < points[-1].shift:
                points.append(walker.point(-1, joins=False))
            walker.take_up_anew()
            points.append(walker.point(-1, joins=False))
            stalls = 0
    if points[-1].shift > walker.shift:
        points.append(walker.point(-1, joins=False))
    return points
