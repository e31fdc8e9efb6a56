"""Keeping the best APIs whose definitions fit into a token budget together."""

from __future__ import annotations

from typing import Annotated

import msgspec

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.packing import first_fit
from toolrank_rescorers.stages.base import Stage
from toolrank_rescorers.state import State


class Pack(Stage, frozen=True, tag="pack"):
    """First fit by rank: what does not fit any more is skipped, smaller ones behind it may still be taken."""

    budget: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]
    """Tokens."""

    def apply(self, state: State, models: Models) -> State:
        """What fits, in order."""
        if state.sizes is None:
            raise StageUnavailable("the request does not say how large the definitions are")
        tokens = state.sizes.tokens
        fitting = set(first_fit((item.id for item in state.ranked), tokens, self.budget))
        kept = [item for item in state.ranked if item.id in fitting]
        used = sum(tokens[item.id] for item in kept)
        note = (
            f"{len(kept)} of {len(state.ranked)} fit: {used} of {self.budget} tokens by {state.sizes.counter}"
        )
        return state.with_ranked(kept, {item.id: f"{tokens[item.id]} tokens" for item in kept}, note)
