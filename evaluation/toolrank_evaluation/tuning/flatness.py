"""How flat an optimum is: where the figure hardly depends on a value, any team may choose its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from toolrank_evaluation.tuning.racing import Trial
from toolrank_evaluation.tuning.space import Choice, Setting, Value


class Flatness(msgspec.Struct, frozen=True):
    """One field at the optimum."""

    name: str
    chosen: Value
    near: tuple[Value, ...]
    """Values of the settings that are within one standard error of the best."""
    cost: float
    """The most that the worst value costs when all other fields are chosen as well as was found for it."""
    best_with: tuple[tuple[Value, float], ...]
    """The best estimate found with each value tried."""


def flatness(choices: Sequence[Choice], trials: Mapping[Setting, Trial], best: Trial) -> tuple[Flatness, ...]:
    """Each field of a space around its best trial."""
    near = [trial.setting for trial in trials.values() if _near(trial, best)]
    found = []
    for place, choice in enumerate(choices):
        tops: dict[int, float] = {}
        for trial in trials.values():
            index = trial.setting[place]
            tops[index] = max(tops.get(index, -np.inf), trial.estimate)
        found.append(
            Flatness(
                name=choice.name,
                chosen=choice.values[best.setting[place]],
                near=tuple(choice.values[index] for index in sorted({setting[place] for setting in near})),
                cost=best.estimate - min(tops.values()),
                best_with=tuple((choice.values[index], tops[index]) for index in sorted(tops)),
            )
        )
    return tuple(found)


def share_near(trials: Mapping[Setting, Trial], best: Trial) -> float:
    """Share of all settings tried that are within one standard error of the best."""
    return sum(_near(trial, best) for trial in trials.values()) / len(trials)


def _near(trial: Trial, best: Trial) -> bool:
    """Judged by the requests that both were asked."""
    difference = best.values[: len(trial.values)] - trial.values
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return bool(difference.mean() <= error + 1e-12)
