"""Weighted reciprocal rank fusion of the first-stage rankings."""

from __future__ import annotations

from collections.abc import Iterable

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
        return frozenset(name for name, weight in self._weights().items() if weight > 0)

    def apply(self, state: State, models: Models) -> State:
        """Orders by fused score; candidates without any place follow in their incoming order."""
        found, placeless, fetched, dropped = [], [], [], []
        for item in state.ranked:
            if item.fetched:
                fetched.append(item)
            elif not any(item.candidate.places.values()):
                placeless.append(item)
            elif places := self._places(item, state.intent_trust):
                best = min(rank for _, _, rank in places)
                score = sum(weight / (self.k + rank) for _, weight, rank in places)
                found.append(replace(item, score=score, first_rank=best))
            else:
                dropped.append(item)
        after = lifted(found, self.tool_share)
        ordered = [*by_score(after, lambda item: item.score), *placeless]
        return state.with_ranked(
            _renumber(ordered, fetched),
            {
                item.id: self._reason(item, state.intent_trust) + said_of_lift(item, late)
                for item, late in zip(found, after, strict=True)
            }
            | dict.fromkeys((item.id for item in dropped), _DROPPED),
            f"{len(ordered)} candidates fused",
        )

    def _places(self, item: Ranked, trust: float) -> list[tuple[str, float, int]]:
        """(name, weight, rank) for every ranking that counts and found the candidate."""
        weights = self._weights() | {"intent": self.intent * trust}
        return [
            (name, weights[name], place.rank)
            for name, place in item.candidate.places.items()
            if place is not None and weights[name] > 0
        ]

    def _weights(self) -> dict[RankingName, float]:
        return {
            "lexical": self.lexical,
            "dense": self.dense,
            "intent": self.intent,
            "sentence": self.sentence,
        }

    def _reason(self, item: Ranked, trust: float) -> str:
        return " + ".join(f"{name} rank {rank}" for name, _, rank in self._places(item, trust))


def _renumber(ordered: Iterable[Ranked], fetched: Iterable[Ranked]) -> list[Ranked]:
    """First-stage ranks from 1; what was fetched later shares the one after the last, ordered by id."""
    numbered = [replace(item, first_rank=rank) for rank, item in enumerate(ordered, start=1)]
    last = len(numbered) + 1
    late = sorted(fetched, key=lambda item: item.id)
    return numbered + [replace(item, first_rank=last, score=0.0) for item in late]
