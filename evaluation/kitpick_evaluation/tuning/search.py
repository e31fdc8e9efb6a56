"""Search strategies: a grid, or Bayesian optimisation (tree-structured Parzen estimator, by optuna)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from kitpick_evaluation.significance import Float64
from kitpick_evaluation.tuning.space import Choice, Setting
from kitpick_foundation.errors import MissingExtra

if TYPE_CHECKING:
    import optuna


Measure = Callable[[Setting, range], Sequence[float]]
"""The figure of a setting on the requests with these numbers."""

_FIRST = 24
_CLEARLY = 2.0
"""Standard errors by which a setting has to trail the best before it is given up."""
_SAME = 96
"""Requests on which a setting has to equal the best to be given up as no other: a difference on one
request in thirty shows with 96 % confidence."""


class Trial(msgspec.Struct, frozen=True, eq=False):
    """One setting and its results."""

    setting: Setting
    values: Float64
    """Figures of the first requests, all of them where it was finished."""
    estimate: float
    """Mean over all requests; for one given up, the best one's mean plus the mean difference seen."""
    finished: bool


class Race:
    """Keeps every setting tried, and the best finished one.

    Args:
        measure: runs a setting on some requests.
        requests: how many there are; their order should be mixed, as the first ones are tried first.
    """

    def __init__(self, measure: Measure, requests: int) -> None:
        self._measure = measure
        self._requests = requests
        self.trials: dict[Setting, Trial] = {}
        self.best: Trial | None = None

    def run(self, setting: Setting) -> Trial:
        """Tries a setting, or returns its earlier results."""
        if setting not in self.trials:
            trial = self._tried(setting)
            self.trials[setting] = trial
            if trial.finished and (self.best is None or trial.estimate > self.best.estimate):
                self.best = trial
        return self.trials[setting]

    def _tried(self, setting: Setting) -> Trial:
        values = np.empty(0)
        block = _FIRST
        while len(values) < self._requests:
            wanted = range(len(values), min(self._requests, len(values) + block))
            values = np.concatenate([values, self._measure(setting, wanted)])
            block = len(values)
            if len(values) < self._requests and self._trails(values):
                assert self.best is not None
                behind = float((values - self.best.values[: len(values)]).mean())
                return Trial(setting, values, self.best.estimate + behind, finished=False)
        return Trial(setting, values, float(values.mean()), finished=True)

    def _trails(self, values: Float64) -> bool:
        if self.best is None:
            return False
        difference = values - self.best.values[: len(values)]
        if not difference.any():
            return len(values) >= _SAME
        error = difference.std(ddof=1) / np.sqrt(len(values))
        return bool(difference.mean() + _CLEARLY * error < 0)


_SCOUTS = 20
"""One in this number of settings of a grid is tried out of order."""

Method = Literal["bayes", "grid"]


class Effort(msgspec.Struct, frozen=True):
    """Number of settings to try, and how they are chosen."""

    trials: int = 200
    method: Method = "bayes"
    seed: int = 0


def search(
    race: Race,
    choices: Sequence[Choice],
    first: Setting | None,
    effort: Effort,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Races different settings, `first` before all others.

    A grid that is larger than the effort is sampled evenly at random. A Bayesian search ends early when it
    proposes little but what was tried already.

    Raises:
        MissingExtra: optuna is not installed.
    """
    if first is not None:
        race.run(first)
        advance(1)
    wanted = min(effort.trials, prod(len(choice.values) for choice in choices))
    if effort.method == "grid":
        _grid(race, choices, wanted, effort.seed, advance)
    else:
        _bayes(race, choices, wanted, effort.seed, advance)


def _grid(
    race: Race, choices: Sequence[Choice], wanted: int, seed: int, advance: Callable[[int], None]
) -> None:
    cells = list(islice(_cells(choices, seed), wanted))
    # A few at random find one to beat. The rest goes in order, so that settings which begin
    # alike follow each other: what they share is computed once.
    scouts = wanted // _SCOUTS
    for setting in [*cells[:scouts], *sorted(cells[scouts:])]:
        if setting not in race.trials:
            race.run(setting)
            advance(1)


def _cells(choices: Sequence[Choice], seed: int) -> Iterator[Setting]:
    """Every cell of the grid in random order; a huge grid is drawn from instead of listed."""
    sizes = [len(choice.values) for choice in choices]
    rng = random.Random(seed)
    if prod(sizes) <= 100_000:
        cells = list(product(*(range(size) for size in sizes)))
        rng.shuffle(cells)
        yield from cells
        return
    drawn: set[Setting] = set()
    while True:
        setting = tuple(rng.randrange(size) for size in sizes)
        if setting not in drawn:
            drawn.add(setting)
            yield setting


def _bayes(
    race: Race, choices: Sequence[Choice], wanted: int, seed: int, advance: Callable[[int], None]
) -> None:
    study = _study(seed)
    for _ in range(2 * wanted):
        if len(race.trials) >= wanted:
            break
        trial = study.ask()
        setting = tuple(trial.suggest_int(choice.name, 0, len(choice.values) - 1) for choice in choices)
        if setting not in race.trials:
            advance(1)
        study.tell(trial, race.run(setting).estimate)


def _study(seed: int) -> optuna.Study:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtra("tune", "a Bayesian search") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
