"""Tries settings on growing samples of requests, and stops those that are clearly worse than the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from kitpick_evaluation.significance import Float64
from kitpick_evaluation.tuning.space import Setting

Measure = Callable[[Setting, range], Sequence[float]]
"""The figure of a setting on the requests with these numbers."""

_FIRST = 24
_CLEARLY = 2.0
"""Standard errors by which a setting has to trail the best before it is given up."""
_SAME = 96
"""Requests on which a setting has to equal the best to be given up as no other: one that differs on a request
in thirty is told from it with 96 % confidence."""


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
