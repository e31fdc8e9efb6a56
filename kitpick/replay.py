"""Replays choices offline: each request is searched without choices, and with those made before it.

People choose from what they look at, and look at the first lines most. A choice far down is therefore worth
more than one at the top: it stands for others that were never looked at. Each is weighed by the inverse of
the chance of having been looked at (inverse propensity, Joachims et al., WSDM 2017), which is taken to be
rank^−bias. The effective sample size says how many equally weighed choices that leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from kitpick.catalog import Catalog
from kitpick.definition_tokens import measure_definitions
from kitpick_engines.contract import Filter
from kitpick_engines.intents.answers import JudgedAnswer, RememberedAnswer
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.search import LocalRescorer, Search

DEPTH = 20
"""Hits that are looked at."""
MAX_WEIGHT = 10.0
"""Clipped: one choice far down must not outvote all others."""
FEW = 30
"""Below so many effective choices, a difference of means is mostly chance."""


class ReplayedChoice(msgspec.Struct, frozen=True):
    """One choice: where its API was shown, and its places without and with the choices before it."""

    request: str
    api: str
    shown: int
    """Rank from 1."""
    without: int | None
    """Rank without any choices; None where it is not among the hits."""
    with_choices: int | None
    """Rank with what others had chosen before."""


class Means(msgspec.Struct, frozen=True):
    """Mean reciprocal ranks in [0, 1] of chosen APIs."""

    without: float
    with_choices: float

    @property
    def gain(self) -> float:
        """What choices add."""
        return self.with_choices - self.without


class Replay(msgspec.Struct, frozen=True):
    """Choices replayed, and what that is worth as evidence."""

    choices: int
    risen: int
    fallen: int
    plain: Means
    """Every choice counts the same: too kind to what was shown first."""
    weighed: Means
    """Every choice counts by its inverse propensity, divided by the sum of the weights."""
    effective: float
    """Effective sample size (Kish): (Σ w)² / Σ w²."""
    clipped: int
    """Choices whose weight was cut to `MAX_WEIGHT`."""
    bias: float
    """Exponent of the propensity: 0 says that all ranks are looked at alike."""
    cautions: tuple[str, ...]
    changed: tuple[ReplayedChoice, ...] = ()
    """The choices whose API moved, the farthest first."""


def summarise_replay(replayed: Sequence[ReplayedChoice], bias: float = 1.0) -> Replay:
    """The replay of choices; all means are 0 without any.

    Args:
        replayed: the choices.
        bias: how much less is looked at further down, at least 0.
    """
    whole = [item.shown**bias for item in replayed]
    weights = [min(weight, MAX_WEIGHT) for weight in whole]
    gains = [_worth(item.with_choices) - _worth(item.without) for item in replayed]
    effective = sum(weights) ** 2 / sum(weight**2 for weight in weights) if weights else 0.0
    clipped = sum(weight > MAX_WEIGHT for weight in whole)
    changed = sorted(
        ((gain, item) for gain, item in zip(gains, replayed, strict=True) if gain),
        key=lambda each: (-abs(each[0]), each[1].request, each[1].api),
    )
    return Replay(
        choices=len(replayed),
        risen=sum(gain > 0 for gain in gains),
        fallen=sum(gain < 0 for gain in gains),
        plain=_means(replayed, [1.0] * len(replayed)),
        weighed=_means(replayed, weights),
        effective=effective,
        clipped=clipped,
        bias=bias,
        cautions=_cautions(effective, clipped, bias),
        changed=tuple(item for _, item in changed),
    )


def _means(replayed: Sequence[ReplayedChoice], weights: Sequence[float]) -> Means:
    total = sum(weights) or 1.0
    weighed = list(zip(replayed, weights, strict=True))
    return Means(
        sum(weight * _worth(item.without) for item, weight in weighed) / total,
        sum(weight * _worth(item.with_choices) for item, weight in weighed) / total,
    )


def _worth(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / rank


def _cautions(effective: float, clipped: int, bias: float) -> tuple[str, ...]:
    said = [
        "position bias: what is shown first is chosen more often; here a choice at rank r counts "
        f"r^{bias:g}, which is an assumption",
        "what was never shown could not be chosen: tools that choices would bring up for the first time are "
        "judged by nobody",
    ]
    if effective < FEW:
        said.append(f"few choices: {effective:.1f} effective ones are too few to tell a gain from chance")
    if clipped:
        said.append(f"{clipped} weights were cut to {MAX_WEIGHT:g}, which favours the old order")
    return tuple(said)


def replay_choices(
    catalog: Catalog,
    *,
    tenant: str | None = None,
    most: int = 500,
    profile: str | Path | Profile | None = None,
    bias: float = 1.0,
) -> Replay:
    """What the choices of the answers' file would have changed, for those who asked, with their permissions.

    A choice never counts for itself: only what was said before it does.

    Args:
        catalog: whose answers file is read.
        tenant: of this tenant alone; None for all.
        most: the latest choices, so many at most; each costs up to two searches.
        profile: how is searched; by default as in the settings.
        bias: see `summarise_replay`.

    Raises:
        EngineError, RescorerError: as `Catalog.search`.
    """
    chosen = profile if profile is not None else catalog.settings.profile
    ranking = _Ranking(catalog, chosen if isinstance(chosen, Profile) else load_profile(chosen))
    judged = [item for item in catalog.learning.answers.judged(tenant) if item.verdict == "chosen"]
    return summarise_replay([ranking.replayed(item) for item in judged[-most:]], bias)


class _Ranking:
    """Ranks requests as of a moment."""

    def __init__(self, catalog: Catalog, profile: Profile) -> None:
        self._catalog = catalog
        self._profile = profile
        self._without = lru_cache(maxsize=1_000)(lambda answer: self._order(answer, 0.0))

    def replayed(self, judged: JudgedAnswer) -> ReplayedChoice:
        answer = judged.answer
        return ReplayedChoice(
            answer.request,
            judged.api,
            judged.rank,
            _rank(self._without(answer), judged.api),
            _rank(self._order(answer, judged.at), judged.api),
        )

    def _order(self, answer: RememberedAnswer, moment: float) -> tuple[str, ...]:
        catalog = self._catalog
        search = Search(
            catalog.engine,
            catalog.models.queries,
            LocalRescorer(catalog.models),
            measure_definitions,
            catalog.intents.votes.as_of(moment),
        )
        asked = Filter(tenant=answer.tenant, principals=frozenset(answer.principals))
        outcome = search.run(answer.request, self._profile, DEPTH, asked)
        return tuple(hit.id for hit in outcome.hits)


def _rank(order: Sequence[str], api: str) -> int | None:
    return order.index(api) + 1 if api in order else None
