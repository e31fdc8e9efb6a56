"""Axes: values keep their order, stay on the drawing, and ticks are round."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kitpick_evaluation.html.svg import scale_for

VALUES = st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=20)


@given(VALUES, st.booleans())
def test_every_value_is_on_the_drawing_in_order(values: list[float], log: bool) -> None:
    scale = scale_for(values, 50.0, 500.0, log=log)
    places = [scale.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(50.0 <= place <= 500.0 for place in places)


@given(VALUES, st.booleans())
@example([0.8], False)  # 0.8 - 0.1 is a little more than the tick 0.7
def test_ticks_lie_within_the_axis_and_are_few(values: list[float], log: bool) -> None:
    scale = scale_for(values, 0.0, 1.0, log=log)
    ticks = scale.ticks()
    assert len(ticks) <= 12
    assert ticks == sorted(set(ticks))
    assert all(scale.low * (1 - 1e-9) <= tick <= scale.high * (1 + 1e-9) for tick in ticks)


def test_an_axis_can_begin_at_zero_and_needs_no_values() -> None:
    assert scale_for([3.0], 0.0, 1.0, zero=True).low == 0.0
    assert scale_for([], 0.0, 1.0).ticks()


def test_ticks_are_round() -> None:
    assert scale_for([0.0, 1.0], 0.0, 1.0).ticks() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert scale_for([10.0, 1000.0], 0.0, 1.0, log=True).ticks() == [10, 20, 50, 100, 200, 500, 1000]
