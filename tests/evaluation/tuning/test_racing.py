"""Racing finds the best setting for a fraction of the work, and says what it gave up."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_evaluation.tuning.search import Effort, Race, search
from kitpick_evaluation.tuning.space import Choice, Setting
from kitpick_evaluation.tuning.tune import flatness, share_near

CHOICES = (Choice("s", "good", tuple(range(8))), Choice("s", "idle", (0, 1, 2)))
REQUESTS = 200
NOISE = np.random.default_rng(0).normal(0, 0.1, REQUESTS)


class Measured:
    """Best at good = 5, whatever idle is; counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, setting: Setting, numbers: range) -> list[float]:
        self.asked += len(numbers)
        own = np.random.default_rng(setting[0]).normal(0, 0.05, REQUESTS)
        value = 0.5 - 0.05 * abs(setting[0] - 5)
        return (value + NOISE + own)[numbers.start : numbers.stop].tolist()


@pytest.mark.parametrize("method", ["grid", pytest.param("bayes", marks=pytest.mark.needs("tune"))])
def test_the_best_is_found_and_most_work_is_saved(method: str) -> None:
    measured = Measured()
    race = Race(measured, REQUESTS)
    search(race, CHOICES, (0, 0), Effort(24, method, seed=1))
    assert race.best is not None
    assert race.best.setting[0] == 5
    assert len(race.best.values) == REQUESTS
    assert measured.asked < 0.7 * REQUESTS * len(race.trials)


def test_the_grid_tries_every_cell_once_and_a_bound_holds() -> None:
    race = Race(Measured(), REQUESTS)
    search(race, CHOICES, None, Effort(1_000, "grid"))
    assert len(race.trials) == 24
    few = Race(Measured(), REQUESTS)
    search(few, CHOICES, None, Effort(5, "grid"))
    assert len(few.trials) == 5


def test_a_huge_grid_is_drawn_from() -> None:
    huge = tuple(Choice("s", f"f{n}", tuple(range(10))) for n in range(9))
    race = Race(lambda setting, numbers: [float(sum(setting))] * len(numbers), 3)
    search(race, huge, None, Effort(20, "grid"))
    assert len(race.trials) == 20


@pytest.mark.needs("tune")
def test_equal_seeds_try_equal_settings() -> None:
    def tried(seed: int) -> list[Setting]:
        race = Race(Measured(), REQUESTS)
        search(race, CHOICES, None, Effort(15, "bayes", seed))
        return list(race.trials)

    assert tried(3) == tried(3)
    assert tried(3) != tried(4)


def test_a_setting_is_measured_once() -> None:
    measured = Measured()
    race = Race(measured, REQUESTS)
    assert race.run((5, 0)) is race.run((5, 0))
    assert measured.asked == REQUESTS


def test_estimates_of_what_was_given_up_stay_below_the_best() -> None:
    race = Race(Measured(), REQUESTS)
    race.run((5, 0))
    given_up = race.run((0, 0))
    assert not given_up.finished
    assert race.best is not None
    assert given_up.estimate == pytest.approx(race.best.estimate - 0.25, abs=0.05)


def test_flatness_tells_fields_that_matter_from_those_that_do_not() -> None:
    race = Race(Measured(), REQUESTS)
    search(race, CHOICES, None, Effort(24, "grid"))
    assert race.best is not None
    good, idle = flatness(CHOICES, race.trials, race.best)
    assert good.near == (5,)
    assert good.cost > 0.2
    assert idle.near == (0, 1, 2)
    assert idle.cost == pytest.approx(0.0, abs=1e-12)
    assert share_near(race.trials, race.best) == 3 / 24
