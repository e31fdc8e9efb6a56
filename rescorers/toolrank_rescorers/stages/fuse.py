"""Weighted reciprocal rank fusion of the two first-stage rankings."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Requirement, Stage, Weight
from toolrank_rescorers.state import Ranked, State, by_score


class Fuse(Stage, frozen=True, tag="fuse"):
    """score(c) = Σ_s w_s / (k + rank_s(c)) over the rankings that found c (Cormack et al., SIGIR 2009).

    Ties: better single rank, then id. A ranking of weight 0 does not count: candidates only it has found are
    dropped. The order that comes out is the *first-stage order* every later stage refers to.
    """

    lexical: Weight = 1.0
    dense: Weight = 1.0
    k: Weight = 60.0

    def needs(self) -> frozenset[Requirement]:
        """The rankings that count."""
        weights: dict[Requirement, float] = {"lexical": self.lexical, "dense": self.dense}
        return frozenset(name for name, weight in weights.items() if weight > 0)

    def apply(self, state: State, models: Models) -> State:
        """Orders by fused score; candidates without any place follow in their incoming order."""
        found, placeless, fetched = [], [], []
        for item in state.ranked:
            if item.fetched:
                fetched.append(item)
            elif item.candidate.lexical is None and item.candidate.dense is None:
                placeless.append(item)
            elif self._places(item):
                found.append(replace(item, score=self._score(item), first_rank=self._best(item)))
        ordered = [*by_score(found, lambda item: item.score), *placeless]
        return state.with_ranked(
            _renumber(ordered, fetched),
            {item.id: self._reason(item) for item in found},
            f"{len(ordered)} candidates fused",
        )

    def _places(self, item: Ranked) -> list[tuple[str, float, int]]:
        """(name, weight, rank) for every ranking that counts and found the candidate."""
        lexical, dense = item.candidate.lexical, item.candidate.dense
        places = []
        if lexical is not None and self.lexical > 0:
            places.append(("lexical", self.lexical, lexical.rank))
        if dense is not None and self.dense > 0:
            places.append(("dense", self.dense, dense.rank))
        return places

    def _score(self, item: Ranked) -> float:
        return sum(weight / (self.k + rank) for _, weight, rank in self._places(item))

    def _best(self, item: Ranked) -> int:
        return min(rank for _, _, rank in self._places(item))

    def _reason(self, item: Ranked) -> str:
        return " + ".join(f"{name} rank {rank}" for name, _, rank in self._places(item))


def _renumber(ordered: Iterable[Ranked], fetched: Iterable[Ranked]) -> list[Ranked]:
    """First-stage ranks from 1; what was fetched later shares the one after the last, ordered by id."""
    numbered = [replace(item, first_rank=rank) for rank, item in enumerate(ordered, start=1)]
    last = len(numbered) + 1
    late = sorted(fetched, key=lambda item: item.id)
    return numbered + [replace(item, first_rank=last, score=0.0) for item in late]
