"""Weighted reciprocal rank fusion of the first-stage rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from toolrank_engines.contract import RankingName
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Probability, Requirement, Stage, Weight
from toolrank_rescorers.stages.lifting import lifted, said_of_lift
from toolrank_rescorers.state import Ranked, State, by_score

_DROPPED = "cut: only a ranking that does not count here found it"


class Fuse(Stage, frozen=True, tag="fuse"):
    """score(c) = Σ_s w_s / (k + rank_s(c)) over the rankings that found c (Cormack et al., SIGIR 2009).

    Ties: better single rank, then id. A ranking of weight 0 does not count: candidates only it has found are
    dropped. `tool_share` moves every score towards the best one of its tool, see `lifted`. The order that
    comes out is the *first-stage order* every later stage refers to.
    """

    lexical: Weight = 1.0
    dense: Weight = 1.0
    intent: Weight = 0.0
    """Of the APIs that the nearest sample requests vote for."""
    sentence: Weight = 0.0
    """Of what the request's sentences find, each asked by itself; a request of one sentence has none."""
    k: Weight = 60.0
    tool_share: Probability = 0.0
    """How far a score moves towards the best one of its tool: 0 not at all, 1 all the way."""

    def needs(self) -> frozenset[Requirement]:
        """The rankings that count."""
        return frozenset(self._weights())

    def apply(self, state: State, models: Models) -> State:
        """Orders by fused score; candidates without any place follow in their incoming order."""
        weights = self._weights(state.intent_trust)
        found: list[Ranked] = []
        reasons: dict[str, str] = {}
        placeless, fetched = [], []
        for item in state.ranked:
            if item.fetched:
                fetched.append(item)
            elif places := _places(item, weights):
                found.append(self._fused(item, places, weights))
                reasons[item.id] = " + ".join(f"{name} rank {rank}" for name, rank in places)
            elif any(item.candidate.places.values()):
                reasons[item.id] = _DROPPED
            else:
                placeless.append(item)
        after = lifted(found, self.tool_share)
        for item, late in zip(found, after, strict=True):
            reasons[item.id] += said_of_lift(item, late)
        ordered = [*by_score(after, lambda item: item.score), *placeless]
        return state.with_ranked(_renumber(ordered, fetched), reasons, f"{len(ordered)} candidates fused")

    def _fused(
        self, item: Ranked, places: Sequence[tuple[RankingName, int]], weights: Mapping[RankingName, float]
    ) -> Ranked:
        score = sum(weights[name] / (self.k + rank) for name, rank in places)
        return replace(item, score=score, first_rank=min(rank for _, rank in places))

    def _weights(self, intent_trust: float = 1.0) -> dict[RankingName, float]:
        """Of the rankings that count."""
        weights: dict[RankingName, float] = {
            "lexical": self.lexical,
            "dense": self.dense,
            "intent": self.intent * intent_trust,
            "sentence": self.sentence,
        }
        return {name: weight for name, weight in weights.items() if weight > 0}


def _places(item: Ranked, weights: Mapping[RankingName, float]) -> list[tuple[RankingName, int]]:
    """(name, rank) for every ranking that counts and found the candidate."""
    places = item.candidate.places
    return [(name, place.rank) for name in weights if (place := places[name]) is not None]


def _renumber(ordered: Iterable[Ranked], fetched: Iterable[Ranked]) -> list[Ranked]:
    """First-stage ranks from 1; what was fetched later shares the one after the last, ordered by id."""
    numbered = [replace(item, first_rank=rank) for rank, item in enumerate(ordered, start=1)]
    last = len(numbered) + 1
    late = sorted(fetched, key=lambda item: item.id)
    return numbered + [replace(item, first_rank=last, score=0.0) for item in late]
