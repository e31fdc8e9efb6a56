"""Keeping the best APIs whose definitions fit into a token budget together."""

from __future__ import annotations

from typing import Annotated

import msgspec

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.packing import best_fit
from toolrank_rescorers.stages.base import Stage
from toolrank_rescorers.state import State


class Pack(Stage, frozen=True, tag="pack"):
    """The set that is worth most within the budget, see `best_fit`, in the order of the list."""

    budget: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]
    """Tokens."""
    count: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 50
    """How many, at most."""

    def apply(self, state: State, models: Models) -> State:
        """What fits, in order."""
        if state.sizes is None:
            raise StageUnavailable("the request does not say how large the definitions are")
        tokens = state.sizes.tokens
        fitting = set(best_fit([item.id for item in state.ranked], tokens, self.budget, self.count))
        kept = [item for item in state.ranked if item.id in fitting]
        used = sum(tokens[item.id] for item in kept)
        note = (
            f"{len(kept)} of {len(state.ranked)} fit: {used} of {self.budget} tokens by {state.sizes.counter}"
        )
        reasons = {item.id: _reason(tokens.get(item.id), item.id in fitting) for item in state.ranked}
        return state.with_ranked(kept, reasons, note)


def _reason(tokens: int | None, fits: bool) -> str:
    size = "unknown size" if tokens is None else f"{tokens} tokens"
    return size if fits else f"cut: {size}, others are worth more of the budget"
