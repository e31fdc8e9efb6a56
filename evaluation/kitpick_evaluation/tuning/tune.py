"""Tunes a profile on some requests, and reports on others.

The report also says how flat the optimum is: how far each value can be moved without a loss.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_evaluation.abstention import (
    AbstentionQuality,
    abstention_quality,
    can_abstain,
    fit_to_requests,
    undecided,
)
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.metrics import CUTOFFS, figure_names, score_rankings
from kitpick_evaluation.significance import Float64, mean_intervals, randomisation_test
from kitpick_evaluation.tuning.recording import Recorded
from kitpick_evaluation.tuning.search import Effort, Race, Trial, search
from kitpick_evaluation.tuning.space import Choice, Setting, Value, check_space, set_choices, setting_values
from kitpick_foundation.errors import suggestion
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile


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
    """Whether a trial is within one standard error of another, by the requests of both."""
    difference = best.values[: len(trial.values)] - trial.values
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return bool(difference.mean() <= error + 1e-12)


HELD_OUT = 1 / 3
_LEAST = 6


class TuneOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a tuning."""

    figure: str = "ndcg@5"
    effort: Effort = Effort()
    held_out: float = HELD_OUT
    """Share of the requests that only report, in (0, 1)."""


class Ground(msgspec.Struct, frozen=True, eq=False):
    """The models of a tuning, and the facets of requests."""

    models: Models
    """Models whose score cache is large enough for all pairs."""
    facets: Facets


class HeldOutFigure(msgspec.Struct, frozen=True):
    """A figure on the requests held out, with a 95 % interval."""

    mean: float
    interval: tuple[float, float]


class TuneReport(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen settings, and their figures on requests held out."""

    profile: str
    figure: str
    tuned_on: int
    held_out: int
    tried: int
    finished: int
    """Settings that were run on all requests; the others trailed clearly before."""
    chosen: dict[str, Value]
    tuned_figure: float
    """On the requests that chose it: too good; it is only reported beside the next two."""
    before: HeldOutFigure
    after: HeldOutFigure
    p: float
    """p-value of "the chosen settings are as good as the profile's own" on the requests held out."""
    flat: tuple[Flatness, ...]
    near: float
    """Share of the settings tried that are within one standard error of the best."""
    abstention: AbstentionQuality | None = None
    """Abstention on the requests held out, with the threshold chosen on the others."""


class Tuned(msgspec.Struct, frozen=True):
    """The report and the profile that it is about."""

    report: TuneReport
    profile: Profile


def tune(
    recorded: Sequence[Recorded],
    base: Profile,
    choices: Sequence[Choice],
    ground: Ground,
    options: TuneOptions,
    advance: Callable[[int], None] = lambda _: None,
) -> Tuned:
    """Chooses settings on two thirds of the requests and judges them on the rest, subset by subset mixed.

    Args:
        recorded: the requests with their candidates.
        base: the profile to start from.
        choices: what may change.
        ground: models, and which tools a request is about, for abstention.
        options: how to search.
        advance: called with the number of settings done since the last call.

    Raises:
        EvaluationError: too few requests, an unknown figure, or a space that does not fit the profile.
        MissingExtra: optuna is not installed.
    """
    check_space(base, choices)
    choices = _in_stage_order(base, choices)
    scoring = _Scoring(ground.models, options.figure, figure_depth(options.figure))
    tuning, held_out = split_requests(recorded, options.held_out, options.effort.seed)

    def measure(setting: Setting, numbers: range) -> list[float]:
        return scoring.figures(set_choices(base, choices, setting), tuning[numbers.start : numbers.stop])

    race = Race(measure, len(tuning))
    search(race, choices, _setting_of(base, choices), options.effort, advance)
    assert race.best is not None, "the first setting is always finished"
    chosen = set_choices(base, choices, race.best.setting)
    chosen, abstention = _with_abstention(chosen, tuning, held_out, ground, scoring.depth)
    before, after = (np.array(scoring.figures(profile, held_out)) for profile in (base, chosen))
    report = _report(base.name, choices, race, (before, after), options)
    return Tuned(replace(report, abstention=abstention), replace(chosen, name=f"{base.name}-tuned"[:100]))


class _Scoring(NamedTuple):
    """Computes one figure of a profile for each request."""

    models: Models
    figure: str
    depth: int
    """The length of ranking that the figure needs."""

    def figures(self, profile: Profile, requests: Sequence[Recorded]) -> list[float]:
        """The figure of the profile's answer to each request."""
        rankings = {item.query.id: item.answer(profile, self.models, self.depth).ids for item in requests}
        found = score_rankings([item.query for item in requests], rankings, (self.depth,))
        return [found[item.query.id][self.figure] for item in requests]


def _report(
    profile: str,
    choices: Sequence[Choice],
    race: Race,
    sides: tuple[Float64, Float64],
    options: TuneOptions,
) -> TuneReport:
    """The report. `sides` are the figures before and after of the requests held out, each (n,)."""
    trials, best, seed = race.trials, race.best, options.effort.seed
    assert best is not None
    before, after = sides
    return TuneReport(
        profile=profile,
        figure=options.figure,
        tuned_on=len(best.values),
        held_out=len(after),
        tried=len(trials),
        finished=sum(trial.finished for trial in trials.values()),
        chosen=dict(setting_values(choices, best.setting)),
        tuned_figure=best.estimate,
        before=_outcome(before, seed),
        after=_outcome(after, seed),
        p=randomisation_test(after - before, seed),
        flat=flatness(choices, trials, best),
        near=share_near(trials, best),
    )


def split_requests(
    recorded: Sequence[Recorded], held_out: float, seed: int
) -> tuple[list[Recorded], list[Recorded]]:
    """Requests to tune on, in mixed order, and requests to report on; each subset is divided alike.

    Raises:
        EvaluationError: either part would be too small to say anything.
    """
    by_subset: defaultdict[str, list[Recorded]] = defaultdict(list)
    for item in recorded:
        by_subset[item.query.subset].append(item)
    rng = random.Random(seed)
    tuning: list[Recorded] = []
    report: list[Recorded] = []
    for members in by_subset.values():
        rng.shuffle(members)
        cut = round(len(members) * held_out)
        report += members[:cut]
        tuning += members[cut:]
    rng.shuffle(tuning)
    if min(len(tuning), len(report)) < _LEAST:
        raise EvaluationError(
            f"{len(recorded)} requests are too few to tune on some and report on others:"
            f" both parts need {_LEAST}"
        )
    return tuning, report


def _with_abstention(
    profile: Profile,
    tuning: Sequence[Recorded],
    report: Sequence[Recorded],
    ground: Ground,
    k: int,
) -> tuple[Profile, AbstentionQuality | None]:
    """The profile with its threshold chosen where it can abstain: the order of the hits does not change."""
    if not can_abstain(profile):
        return profile, None

    models = ground.models
    chosen = fit_to_requests(profile, [item.answer(undecided(profile), models, k) for item in tuning])
    deprived = [item.without({ground.facets.tool(api) for api in item.query.relevant}) for item in report]
    return chosen, abstention_quality(
        profile.name,
        [item.answer(chosen, models, k) for item in report],
        [item.answer(chosen, models, k) for item in deprived],
    )


def _in_stage_order(profile: Profile, choices: Sequence[Choice]) -> list[Choice]:
    """The choices as their stages follow each other: the search varies the last one most."""
    names = [stage.name for stage in profile.stages]
    return sorted(choices, key=lambda choice: names.index(choice.stage))


def _setting_of(profile: Profile, choices: Sequence[Choice]) -> Setting | None:
    """The current values of the profile, None if one of them is not among the choices."""
    setting = []
    for choice in choices:
        stage = next(stage for stage in profile.stages if stage.name == choice.stage)
        value = getattr(stage, choice.field)
        if value not in choice.values:
            return None
        setting.append(choice.values.index(value))
    return tuple(setting)


def figure_depth(figure: str) -> int:
    """The length of ranking that the figure needs.

    Raises:
        EvaluationError: there is no such figure.
    """
    _, _, k = figure.partition("@")
    depth = int(k) if k.isdigit() and int(k) > 0 else max(CUTOFFS)
    if figure not in (names := figure_names((depth,))):
        known = "ndcg@K, recall@K, precision@K, comp@K, mrr, map"
        raise EvaluationError(f"no figure {figure!r}: one of {known}; {suggestion(figure, names)}")
    return depth


def _outcome(values: np.ndarray, seed: int) -> HeldOutFigure:
    low, high = mean_intervals([values[:, None]], seed)[0].tolist()
    return HeldOutFigure(float(values.mean()), (low, high))
