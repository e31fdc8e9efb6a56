"""The figures of a replay, against figures worked out by hand."""

from __future__ import annotations

import pytest

from kitpick.replay import MAX_WEIGHT, ReplayedChoice, summarise_replay


def choice(shown: int, without: int | None, with_choices: int | None) -> ReplayedChoice:
    return ReplayedChoice("rain?", f"api-{shown}", shown, without, with_choices)


def test_a_choice_far_down_stands_for_those_that_were_never_looked_at() -> None:
    found = summarise_replay([choice(1, 1, 1), choice(4, 4, 2)])
    assert found.plain.without == pytest.approx((1 + 1 / 4) / 2)
    assert found.weighed.without == pytest.approx((1 * 1 + 4 * 1 / 4) / 5)
    assert found.weighed.with_choices == pytest.approx((1 * 1 + 4 * 1 / 2) / 5)
    assert found.effective == pytest.approx(5**2 / (1 + 16))


def test_without_bias_all_choices_are_alike() -> None:
    found = summarise_replay([choice(1, 1, 1), choice(4, 4, 2)], bias=0.0)
    assert found.weighed == found.plain
    assert found.effective == pytest.approx(2.0)


def test_weights_are_clipped_and_that_is_said() -> None:
    found = summarise_replay([choice(50, None, 1), choice(1, 1, 2)])
    assert found.clipped == 1
    assert found.weighed.gain == pytest.approx((MAX_WEIGHT * 1 - 1 / 2) / (MAX_WEIGHT + 1))
    assert any("cut to 10" in caution for caution in found.cautions)
    assert [item.shown for item in found.changed] == [50, 1], "the farthest first"
    assert (found.risen, found.fallen) == (1, 1)


def test_nothing_comes_to_nothing() -> None:
    found = summarise_replay([])
    assert (found.choices, found.effective, found.plain.gain, found.weighed.gain) == (0, 0.0, 0.0, 0.0)


def test_enough_choices_are_not_called_few() -> None:
    assert not any("few" in each for each in summarise_replay([choice(1, 1, 1)] * 30).cautions)
