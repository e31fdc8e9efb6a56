"""Replays choices offline: each request is searched without choices, and with those made before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from kitpick.catalog import Catalog
from kitpick.definition_tokens import measure_definitions
from kitpick_engines.contract import Filter
from kitpick_engines.intents.answers import JudgedAnswer, RememberedAnswer
from kitpick_evaluation.replay import Replay, ReplayedChoice, summarise_replay
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.search import LocalRescorer, Search

DEPTH = 20
"""Hits that are looked at."""


def replay(
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
