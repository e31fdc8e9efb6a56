"""Fusion with fixed weights: of the rankings by rank, of their scores, and of rank and cross-encoder score.

Both share scores within a tool, because requests often need several APIs of one tool.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_engines.contract import RankingName
from kitpick_rescorers.associations import associations_of
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.features import stems
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Probability, Requirement, Stage, Weight
from kitpick_rescorers.state import (
    Matrix,
    Ranked,
    State,
    by_score,
    cosines_of,
    has_third_ranking,
    lacks_dense,
    lexical_scores,
)


def lift_tools(items: Sequence[Ranked], share: float) -> list[Ranked]:
    """Every score s(c) as (1 − share) · s(c) + share · max of s over the candidates of the same tool.

    A soft form of ToolRerank's concentration (its Algorithm 1): no tool is excluded, and the order within a
    tool does not change. Items are returned in the order they came.
    """
    if not share:
        return list(items)
    best: dict[str, float] = {}
    for item in items:
        best[item.tool] = max(item.score, best.get(item.tool, item.score))
    return [replace(item, score=item.score + share * (best[item.tool] - item.score)) for item in items]


def lift_reason(before: Ranked, after: Ranked) -> str:
    """The end of a reason; empty if the API is itself the best of its tool."""
    gain = after.score - before.score
    return f" + {gain:.2g} for the best of its tool" if gain else ""


_DROPPED = "cut: only a ranking that does not count here found it"


class Fuse(Stage, frozen=True, tag="fuse"):
    """score(c) = Σ_s w_s / (k + rank_s(c)) over the rankings that found c (Cormack et al., SIGIR 2009).

    Ties: better single rank, then id. A ranking of weight 0 does not count: candidates that only it found are
    dropped. `tool_share` moves every score towards the best score of its tool (`lift_tools`). The result is
    the *first-stage order* that later stages refer to.
    """

    lexical: Weight = 1.0
    dense: Weight = 1.0
    intent: Weight = 0.0
    """Weight of the votes of the nearest sample requests."""
    sentence: Weight = 0.0
    """Weight of the ranking by sentences; a request of one sentence has no such ranking."""
    k: Weight = 60.0
    tool_share: Probability = 0.0
    """How far a score moves towards the best score of its tool: 0 not at all, 1 all the way."""

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
        after = lift_tools(found, self.tool_share)
        for item, late in zip(found, after, strict=True):
            reasons[item.id] += lift_reason(item, late)
        ordered = [*by_score(after, lambda item: item.score), *placeless]
        return state.with_ranked(_renumber(ordered, fetched), reasons, f"{len(ordered)} candidates fused")

    def _fused(
        self, item: Ranked, places: Sequence[tuple[RankingName, int]], weights: Mapping[RankingName, float]
    ) -> Ranked:
        score = sum(weights[name] / (self.k + rank) for name, rank in places)
        return replace(item, score=score, first_rank=min(rank for _, rank in places))

    def _weights(self, intent_trust: float = 1.0) -> dict[RankingName, float]:
        """Weights of the rankings that count."""
        weights: dict[RankingName, float] = {
            "lexical": self.lexical,
            "dense": self.dense,
            "intent": self.intent * intent_trust,
            "sentence": self.sentence,
        }
        return {name: weight for name, weight in weights.items() if weight > 0}


def _places(item: Ranked, weights: Mapping[RankingName, float]) -> list[tuple[RankingName, int]]:
    """(name, rank) for every ranking that counts and found the candidate."""
    found = item.candidate
    return [(name, place.rank) for name in weights if (place := getattr(found, name)) is not None]


def _renumber(ordered: Iterable[Ranked], fetched: Iterable[Ranked]) -> list[Ranked]:
    """First-stage ranks from 1; documents fetched later share the rank after the last, ordered by id."""
    numbered = [replace(item, first_rank=rank) for rank, item in enumerate(ordered, start=1)]
    last = len(numbered) + 1
    late = sorted(fetched, key=lambda item: item.id)
    return numbered + [replace(item, first_rank=last, score=0.0) for item in late]


class Combine(Stage, frozen=True, tag="combine"):
    """score(c) = cosine(c) + associations · s(c) + lexical · BM25(c) / √words − rank_weight · ln(rank(c)).

    A linear combination of scores keeps by how much one candidate is better than the next, as ranks do not
    (Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval", TOIS 2023). s is how
    likely a text is asked for by the request's words (`kitpick_rescorers.associations`), words is how many
    these are, and BM25 is 0 where none was found. The result is the first-stage order.

    The rank, of the list as it comes, counts only where more than these two rankings made that list: one by
    sentences, where a request asks for several things, or the votes of sample requests.
    """

    requires = frozenset({"vector", "lexical", "dense"})

    associations: Weight = 0.2
    lexical: Weight = 0.02
    rank_weight: Weight = 0.1
    optional: bool = False
    """Skip the stage without reporting it as degraded where the request has no vector or the candidates come
    without a dense ranking (a plain rerank API has neither)."""

    def reason_to_skip(self, state: State) -> str:
        """Why the stage does not run; an optional one also needs what it adds up."""
        return super().reason_to_skip(state) or (lacks_dense(state) if self.optional else "")

    def apply(self, state: State, models: Models) -> State:
        """Orders by the sum; ties by first-stage rank, then id."""
        if state.vector is None:
            raise StageUnavailable("the request has no usable query vector")
        terms = self._terms(state)
        scores = sum(terms.values()) - self._prior(state)
        scored = [replace(item, score=float(score)) for item, score in zip(state.ranked, scores, strict=True)]
        reasons = {
            item.id: " + ".join(f"{value[place]:.2f} by {name}" for name, value in terms.items())
            for place, item in enumerate(scored)
        }
        found = by_score((item for item in scored if not item.fetched), lambda item: item.score)
        return state.with_ranked(_renumber(found, (item for item in scored if item.fetched)), reasons)

    def _terms(self, state: State) -> dict[str, Matrix]:
        """What is added up, (n,) each."""
        words, asked = lexical_scores(state.ranked), stems(state.query)
        return {
            "its vector": cosines_of(state, state.ranked),
            "what people say for it": self.associations * associations_of(asked, state.ranked),
            "its words": self.lexical * words / math.sqrt(max(1, len(asked))),
        }

    def _prior(self, state: State) -> Matrix:
        counts = has_third_ranking(state.ranked)
        return self.rank_weight * counts * np.log([item.first_rank for item in state.ranked])


class Blend(Stage, frozen=True, tag="blend"):
    """score(c) = t · z(logit(c)) + (1 − t) · dense · z(cosine(c)) − rank_weight · ln(first-stage rank of c).

    z standardises over the scored candidates that the first stage proposed, so that documents fetched later
    do not move the scale; equal values give z = 0. Candidates that were not scored follow in their order.

    z does not show how confident the model is: if it finds all candidates unlikely, z is amplified noise.
    Therefore the trust t = min(1, p / full_trust), with p the largest probability among the proposed
    candidates. What trust leaves goes to the vectors, because a request in words of its own is what the
    cross-encoder is unsure of, and words rank it badly. A candidate without a usable vector has z = 0.

    Then `tool_share` moves every score towards the best score of its tool, see `lift_tools`.
    """

    rank_weight: Weight = 1.0
    full_trust: Probability = 0.0
    """Probability of the best candidate from which trust is 1; with 0 it is always 1."""
    dense: Weight = 0.0
    """Weight of the vectors where trust is 0."""
    tool_share: Probability = 0.0
    """How far a score moves towards the best score of its tool: 0 not at all, 1 all the way."""

    def needs(self) -> frozenset[Requirement]:
        """The request's vector where vectors count."""
        return frozenset({"vector"}) if self.dense else frozenset()

    def apply(self, state: State, models: Models) -> State:
        """The scored candidates by blended score; ties by first-stage rank, then id."""
        scored = state.scored
        if not scored:
            raise StageUnavailable("there are no cross-encoder scores to blend")
        proposed = np.array([not item.fetched for item in scored])
        proposed |= not proposed.any()
        trust = self._trust(item for item, counts in zip(scored, proposed, strict=True) if counts)
        read = _standardised(np.array([_logit(item) for item in scored]), proposed, trust)
        near = _standardised(cosines_of(state, scored), proposed, (1.0 - trust) * self.dense)
        priors = [self.rank_weight * math.log(item.first_rank) for item in scored]
        blended = [
            replace(item, score=float(z + cosine) - prior)
            for item, z, cosine, prior in zip(scored, read, near, priors, strict=True)
        ]
        after = lift_tools(blended, self.tool_share)
        reasons = {
            item.id: _blend_reason(item, z, cosine, prior) + lift_reason(item, late)
            for item, late, z, cosine, prior in zip(blended, after, read, near, priors, strict=True)
        }
        rest = [item for item in state.ranked if item.probability is None]
        return state.with_ranked([*by_score(after, lambda item: item.score), *rest], reasons)

    def _trust(self, proposed: Iterable[Ranked]) -> float:
        best = max(item.probability or 0.0 for item in proposed)
        return min(1.0, best / self.full_trust) if self.full_trust else 1.0


def _standardised(values: Matrix, proposed: NDArray[np.bool_], weight: float) -> Matrix:
    """`weight` · z of the values (n,), by mean and deviation of those that were proposed."""
    deviation = float(values[proposed].std())
    standardised: Matrix = (values - values[proposed].mean()) * (
        weight / (deviation if deviation > 1e-12 else 1.0)
    )
    return standardised


def _blend_reason(item: Ranked, z: float, cosine: float, prior: float) -> str:
    near = f" {cosine:+.2f} by its vector" if cosine else ""
    return f"z {z:+.2f}{near} − {prior:.2f} for first-stage rank {item.first_rank}"


def _logit(item: Ranked) -> float:
    assert item.logit is not None, "a candidate with a probability has a logit"
    return item.logit
