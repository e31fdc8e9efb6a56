"""Blending the cross-encoder's score with the first-stage rank: each knows something the other does not."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Probability, Stage, Weight
from toolrank_rescorers.stages.lifting import lifted, said_of_lift
from toolrank_rescorers.state import Ranked, State, by_score


class Blend(Stage, frozen=True, tag="blend"):
    """score(c) = trust · z(logit(c)) − rank_weight · ln(first-stage rank of c).

    z standardises over the scored candidates the first stage proposed, so that what is fetched later does not
    move the scale; equal logits give z = 0. Candidates that were not scored follow in their order.

    z says nothing of how sure the model is: among candidates that it all holds for wrong, it is noise blown
    up to scale. Therefore trust = min(1, p / full_trust) with the largest probability p among the proposed.

    Then `tool_share` moves every score towards the best one of its tool, see `lifted`.
    """

    rank_weight: Weight = 1.0
    full_trust: Probability = 0.0
    """Probability of the best candidate from which on the model is trusted in full; 0: always."""
    tool_share: Probability = 0.0
    """How far a score moves towards the best one of its tool: 0 not at all, 1 all the way."""

    def apply(self, state: State, models: Models) -> State:
        """The scored candidates by blended score; ties by first-stage rank, then id."""
        scored = state.scored
        if not scored:
            raise StageUnavailable("there are no cross-encoder scores to blend")
        mean, unit = self._scale(scored)
        blended = [self._blend(item, mean, unit) for item in scored]
        after = lifted(blended, self.tool_share)
        rest = [item for item in state.ranked if item.probability is None]
        return state.with_ranked(
            [*by_score(after, lambda item: item.score), *rest],
            {
                item.id: self._reason(item) + said_of_lift(item, late)
                for item, late in zip(blended, after, strict=True)
            },
        )

    def _scale(self, scored: tuple[Ranked, ...]) -> tuple[float, float]:
        """Mean of the proposed candidates' logits, and what one unit above it adds to a score."""
        proposed = [item for item in scored if not item.fetched] or scored
        logits = np.array([_logit(item) for item in proposed])
        deviation = float(logits.std())
        best = max(item.probability or 0.0 for item in proposed)
        trust = min(1.0, best / self.full_trust) if self.full_trust else 1.0
        return float(logits.mean()), trust / (deviation if deviation > 1e-12 else 1.0)

    def _blend(self, item: Ranked, mean: float, unit: float) -> Ranked:
        z = (_logit(item) - mean) * unit
        return replace(item, score=z - self.rank_weight * math.log(item.first_rank))

    def _reason(self, item: Ranked) -> str:
        prior = self.rank_weight * math.log(item.first_rank)
        return f"z {item.score + prior:+.2f} − {prior:.2f} for first-stage rank {item.first_rank}"


def _logit(item: Ranked) -> float:
    assert item.logit is not None, "a candidate with a probability has a logit"
    return item.logit
