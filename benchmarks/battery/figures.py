"""Figures of the battery: of one profile on one set, and over all sets.

Ranking figures are in percent, rates of abstention, calibration errors and probabilities in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from battery.facets import OWN_WORDS_STYLES
from battery.sets import Kind, kind_of
from battery.systems import DEPTH, TOP, RequestOutcome
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.metrics import score_rankings
from kitpick_evaluation.significance import RESAMPLES, mean_intervals
from kitpick_training.calibration import Pair, calibration_error, calibration_floor

Float64 = NDArray[np.float64]
Headline = dict[str, float | str | None]
"""Figures by name; a name that ends with `_name` gives the set that it is about."""

RANKING = ("recall@5", "ndcg@5", "comp@5", "recall@50", "first")
"""Share of what is wanted among the first five, its discounted gain, all of it there; in the first stage;
whether the first hit is right."""
JUDGED = ("judged@5", "judged_first")
"""By what readers say of hits: discounted gain, 3 for grade 2 and 1 for grade 1; whether the first has 2."""
FIGURES = (*RANKING, *JUDGED)


class Interval(msgspec.Struct, frozen=True):
    """A mean with its 95 % interval by the percentile bootstrap over requests, in percent."""

    mean: float
    low: float
    high: float


class ProfileFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Figures of one profile on the requests of one set, or a part of them."""

    requests: int
    ranking: Mapping[str, Interval]
    """By the names of `RANKING`."""
    judged: Mapping[str, float] | None = None
    """By the names of `JUDGED`, over the requests that readers have judged; None without any."""
    false_alarms: float | None = None
    """Share of answerable requests that were refused; None where the profile cannot abstain."""
    caught: float | None = None
    """Share refused of those asked of a catalog without the tools that do the job: a lower bound."""
    ece_first: float | None = None
    """Calibration error of the first hits' probabilities; None where there are none."""
    ece_five: float | None = None
    """The same of all the first five."""
    ece_floor: float | None = None
    """Mean `ece_five` of perfect probabilities, by the small number of hits alone."""
    milliseconds: float | None = None
    """Processor time of a whole search that remembers nothing, median; None where no time was taken."""


class SetResult(msgspec.Struct, frozen=True):
    """All answers to the requests of one set."""

    name: str
    apis: int
    has_hierarchy: bool
    outcomes: Mapping[str, Sequence[RequestOutcome]]
    """Profile → answers, the requests in one order for all profiles."""
    facets: Mapping[str, Mapping[str, str]]
    """Request id → facet → subset."""
    milliseconds: Mapping[str, float] = {}
    """By profile, where time was taken."""
    split: str = ""
    """Empty where the set is of no split: it is never trained on."""

    def figures(self, profile: str, seed: int = 0) -> ProfileFigures:
        """Figures over all requests."""
        found = profile_figures(self.outcomes[profile], seed)
        return msgspec.structs.replace(found, milliseconds=self.milliseconds.get(profile))

    def subsets(self, profile: str, seed: int = 0) -> Mapping[str, Mapping[str, ProfileFigures]]:
        """Facet → subset → figures of the requests that belong to it."""
        outcomes = self.outcomes[profile]
        ranking = ranking_figures(outcomes)
        parts: dict[str, dict[str, list[int]]] = {}
        for row, outcome in enumerate(outcomes):
            for facet, subset in self.facets[outcome.request.id].items():
                parts.setdefault(facet, {}).setdefault(subset, []).append(row)
        return {
            facet: {
                subset: profile_figures([outcomes[row] for row in rows], seed, ranking[rows])
                for subset, rows in sorted(found.items())
            }
            for facet, found in parts.items()
        }


def ranking_figures(outcomes: Sequence[RequestOutcome]) -> Float64:
    """The figures of `RANKING` and `JUDGED` of every request, (requests, 7), in percent.

    Raises:
        MissingExtra: ir-measures is not installed.
    """
    queries = [JudgedQuery(o.request.id, o.request.text, o.request.relevant) for o in outcomes]
    scored = score_rankings(queries, {o.request.id: o.ids for o in outcomes}, (TOP,))
    rows = [
        [
            *(scored[o.request.id][name] for name in RANKING[:3]),
            first_stage_recall(o),
            float(bool(o.ids) and o.ids[0] in o.request.relevant),
            *judged_figures(o),
        ]
        for o in outcomes
    ]
    return 100.0 * np.array(rows, np.float64).reshape(len(outcomes), len(FIGURES))


def judged_figures(outcome: RequestOutcome) -> tuple[float, float]:
    """The figures of `JUDGED` of one request, in [0, 1]; what nobody has graded counts as 0."""
    grades = outcome.request.grades
    found = [grades.get(id_, 0) for id_ in outcome.ids[:TOP]]
    best = sorted(grades.values(), reverse=True)[:TOP]
    return _discounted(found) / (_discounted(best) or 1.0), float(found[:1] == [_RIGHT])


_RIGHT = 2
"""The grade of what does what is asked."""


def _discounted(grades: Sequence[int]) -> float:
    return sum(((1 << grade) - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


def first_stage_recall(outcome: RequestOutcome) -> float:
    """Share of the relevant APIs among the first fifty of the first stage."""
    relevant = outcome.request.relevant
    return len(relevant & set(outcome.first_stage[:DEPTH])) / len(relevant)


def profile_figures(
    outcomes: Sequence[RequestOutcome], seed: int = 0, ranking: Float64 | None = None
) -> ProfileFigures:
    """Figures of a profile over at least one request; `ranking` if it is known already."""
    ranking = ranking_figures(outcomes) if ranking is None else ranking
    ranking, graded = np.split(ranking, [len(RANKING)], axis=1)
    intervals = mean_intervals([ranking], seed, RESAMPLES)
    refused = [o.abstained_without for o in outcomes if o.abstained_without is not None]
    judged = np.array([any(o.request.grades.values()) for o in outcomes])
    first, five = probabilities(outcomes, 1), probabilities(outcomes, TOP)
    return ProfileFigures(
        requests=len(outcomes),
        ranking={
            name: Interval(float(mean), float(low), float(high))
            for name, mean, (low, high) in zip(RANKING, ranking.mean(axis=0), intervals, strict=True)
        },
        judged=_named(JUDGED, graded[judged]) if judged.any() else None,
        false_alarms=sum(o.abstained for o in outcomes) / len(outcomes) if refused else None,
        caught=sum(refused) / len(refused) if refused else None,
        ece_first=calibration_error(first) if first else None,
        ece_five=calibration_error(five) if five else None,
        ece_floor=calibration_floor(five, seed) if five else None,
    )


def _named(names: Sequence[str], rows: Float64) -> Mapping[str, float]:
    return dict(zip(names, rows.mean(axis=0).tolist(), strict=True))


def probabilities(outcomes: Sequence[RequestOutcome], top: int) -> list[Pair]:
    """Pairs of probability and relevance of the first hits of every answer that have a probability."""
    return [
        (probability, id_ in outcome.request.relevant)
        for outcome in outcomes
        for id_, probability in zip(outcome.ids[:top], outcome.probabilities[:top], strict=True)
        if probability is not None
    ]


class Difference(msgspec.Struct, frozen=True):
    """Difference of two profiles in one figure of `RANKING`, in points, for each set."""

    by_set: Mapping[str, float]
    mean: float
    """Over sets, each counting the same."""
    low: float
    high: float
    """The 95 % interval of the mean, the requests of each set drawn anew, both profiles on the same ones."""

    @property
    def worst(self) -> str:
        """The set with the smallest difference."""
        return min(self.by_set, key=lambda name: self.by_set[name])


def difference(
    results: Sequence[SetResult], profile: str, others: Sequence[str], seed: int = 0, figure: str = "ndcg@5"
) -> Difference | None:
    """A profile against the best of some others on each set, by one of `FIGURES`; None without a set.

    Where the profile was not asked the first requests, the others are judged without them, too. Which of the
    others is best is decided on the same requests, which flatters the others.
    """
    if not results:
        return None
    ahead: dict[str, Float64] = {}
    for result in results:
        asked = len(result.outcomes[profile])
        column = FIGURES.index(figure)
        found = {
            name: ranking_figures(result.outcomes[name][-asked:])[:, column] for name in (profile, *others)
        }
        best = max(others, key=lambda name: float(found[name].mean()))
        ahead[result.name] = found[profile] - found[best]
    ((low, high),) = mean_intervals([each[:, None] for each in ahead.values()], seed, RESAMPLES)
    by_set = {name: float(each.mean()) for name, each in ahead.items()}
    return Difference(by_set, float(np.mean(list(by_set.values()))), float(low), float(high))


def headline(
    results: Sequence[SetResult], default: str, seed: int = 0, variants: Mapping[str, str] = {}
) -> Headline:
    """The deciding figures over all sets; None if the profiles or sets that they need were not run.

    `natural_minus_best`, `natural_worst`: NDCG@5 of the default less the better of `dense` and `hybrid`, mean
    and worst over the sets of natural requests; `composed_minus_best`, `synthetic_minus_best`: over the
    others. `first_minus_best`: how much oftener the first hit is right, in points, over natural sets.
    `judged_…`: the same two by what readers say of the hits (`battery/judged.py`), of the requests that were
    read; `judged_unread`: share of the default's hits that nobody has read, which count as useless.
    `cost_ratio`: processor time of the default over that of the profile `before`, mean over sets.
    `default_minus_best`, `worst_set`: over all sets. `rerank_minus_hybrid_…`: the same of the cross-encoder
    alone. `toolrerank_minus_rerank`: mean over catalogs with hierarchy. `own_words_recall5`: R@5 of the
    default on requests of styles D and F that share no key word with what they want, and of `dense` on the
    same. `refused_worst`, `caught_mean`: of the default, over sets; the same of variants of it, each with its
    ending, and what a variant gains on the default as it comes: `gain…`. `sure_ece`: mean over sets of the
    calibration error of its first five hits.
    """
    own = {
        "own_words_recall5": own_words_recall(results, default),
        "own_words_recall5_dense": own_words_recall(results, "dense"),
    }
    layered = [result for result in results if result.has_hierarchy]
    return {
        **_by_kind(results, default, seed),
        "cost_ratio": cost_ratio(results, default),
        **_between(results, default, PLAIN, seed, ("default_minus_best", "worst_set")),
        **_between(
            results, "rerank", ("hybrid",), seed, ("rerank_minus_hybrid_mean", "rerank_minus_hybrid_worst")
        ),
        **_between(
            layered,
            "toolrerank",
            ("rerank",),
            seed,
            ("toolrerank_minus_rerank", "toolrerank_minus_rerank_worst"),
        ),
        **own,
        **_sureness(results, default, seed),
        **{
            name: value
            for variant, ending in variants.items()
            for name, value in _of_variant(results, variant, default, seed, ending).items()
        },
    }


PLAIN = ("dense", "hybrid")
"""What rescoring has to beat."""
BEFORE = "before"
"""The profile that costs are compared with: the default as it was at the last milestone."""


def _by_kind(results: Sequence[SetResult], default: str, seed: int) -> Headline:
    of: dict[Kind, list[SetResult]] = {kind: [] for kind in ("natural", "composed", "synthetic")}
    for result in results:
        of[kind_of(result.name)].append(result)
    found: Headline = {}
    for kind, chosen in of.items():
        found |= _between(chosen, default, PLAIN, seed, (f"{kind}_minus_best", f"{kind}_worst"))
    names = ("first_minus_best", "first_worst")
    found |= _between(of["natural"], default, PLAIN, seed, names, "first")
    return found | _by_grades(list(filter(None, map(_judged, of["natural"]))), default, seed)


def _by_grades(results: Sequence[SetResult], default: str, seed: int) -> Headline:
    """The same by what readers say of the hits; and the share of the default's that none has read."""
    hits = [(o.request.grades, id_) for r in results for o in r.outcomes.get(default, ()) for id_ in o.ids]
    unread = [float(id_ not in grades) for grades, id_ in hits]
    return {
        **_between(results, default, PLAIN, seed, ("judged_minus_best", "judged_worst"), "judged@5"),
        **_between(
            results, default, PLAIN, seed, ("judged_first_minus_best", "judged_first_worst"), "judged_first"
        ),
        "judged_unread": _mean(unread),
    }


def _judged(result: SetResult) -> SetResult | None:
    """The answers to requests of which readers have said something; None where there is none."""
    outcomes = {
        name: [o for o in answers if any(o.request.grades.values())]
        for name, answers in result.outcomes.items()
    }
    return msgspec.structs.replace(result, outcomes=outcomes) if all(outcomes.values()) else None


def cost_ratio(results: Sequence[SetResult], default: str) -> float | None:
    """Processor time of the default over that of `before`, mean over the sets where both were timed."""
    timed = [r.milliseconds for r in results if {default, BEFORE} <= r.milliseconds.keys()]
    return _mean([taken[default] / taken[BEFORE] for taken in timed])


def _of_variant(results: Sequence[SetResult], variant: str, default: str, seed: int, ending: str) -> Headline:
    names = (f"default{ending}_minus_best", f"worst_set{ending}")
    gained = (f"gain{ending}", f"gain{ending}_worst")
    return {
        **_between(results, variant, PLAIN, seed, names),
        **_between(results, variant, (default,), seed, gained),
        **_refusals(results, variant, seed, ending),
    }


def _between(
    results: Sequence[SetResult],
    profile: str,
    others: Sequence[str],
    seed: int,
    names: tuple[str, str],
    figure: str = "ndcg@5",
) -> Headline:
    """The mean with its interval under the first name, the worst set under the second."""
    asked = [result for result in results if {profile, *others} <= result.outcomes.keys()]
    ahead = difference(asked, profile, others, seed, figure)
    mean, worst = names
    return {
        mean: None if ahead is None else ahead.mean,
        f"{mean}_low": None if ahead is None else ahead.low,
        f"{mean}_high": None if ahead is None else ahead.high,
        worst: None if ahead is None else ahead.by_set[ahead.worst],
        f"{worst}_name": None if ahead is None else ahead.worst,
    }


def own_words_recall(results: Sequence[SetResult], profile: str) -> float | None:
    """R@5 in percent over the requests of styles D and F that share no key word; None without any."""
    outcomes = [
        outcome
        for result in results
        for outcome in result.outcomes.get(profile, ())
        if outcome.request.style in OWN_WORDS_STYLES and result.facets[outcome.request.id]["shared"] == "none"
    ]
    return float(ranking_figures(outcomes)[:, 0].mean()) if outcomes else None


def _sureness(results: Sequence[SetResult], default: str, seed: int) -> Headline:
    figures = [r.figures(default, seed) for r in results if default in r.outcomes]
    errors = [f.ece_five for f in figures if f.ece_five is not None]
    return {
        **_refusals(results, default, seed),
        "sure_ece": _mean(errors),
        "sure_ece_floor": _mean([f.ece_floor for f in figures if f.ece_floor is not None]),
        "sure_ece_first": _mean([f.ece_first for f in figures if f.ece_first is not None]),
        "sure_ece_worst": max(errors, default=None),
    }


def _refusals(results: Sequence[SetResult], profile: str, seed: int, ending: str = "") -> Headline:
    figures = {r.name: r.figures(profile, seed) for r in results if profile in r.outcomes}
    alarms = {name: f.false_alarms for name, f in figures.items() if f.false_alarms is not None}
    return {
        f"refused_worst{ending}": max(alarms.values(), default=None),
        f"refused_worst{ending}_name": max(alarms, key=lambda name: alarms[name], default=None),
        f"refused_mean{ending}": _mean(list(alarms.values())),
        f"caught_mean{ending}": _mean([f.caught for f in figures.values() if f.caught is not None]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
