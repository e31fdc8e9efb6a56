"""Saying that nothing in the list can do the job, instead of offering the least bad."""

from __future__ import annotations

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Probability, Stage
from toolrank_rescorers.state import State

FALLBACK = 0.05
"""For a model whose manifest names no `abstain`: only what it holds for clearly irrelevant."""


class Abstain(Stage, frozen=True, tag="abstain"):
    """Abstains when the best calibrated probability of any candidate is below the threshold.

    The list stays as it is, for whoever wants to look. `threshold` None takes the model's.
    """

    requires = frozenset({"scorer"})

    threshold: Probability | None = None

    def closed(self, state: State) -> str:
        """An empty list is the clearest case of all."""
        return ""

    def apply(self, state: State, models: Models) -> State:
        """The same list, and whether it can be trusted."""
        if not state.ranked:
            return state.saying("abstained: no candidate was found", abstained="no candidate was found")
        if not state.scored:
            raise StageUnavailable("there are no calibrated scores")
        threshold = models.threshold("abstain", self.threshold, FALLBACK)
        best = max(item.probability or 0.0 for item in state.scored)
        if best >= threshold:
            return state.saying(f"best probability {best:.2f}, threshold {threshold:.2f}")
        why = f"the best probability {best:.2f} is below {threshold:.2f}"
        return state.saying(f"abstained: {why}", abstained=why)
