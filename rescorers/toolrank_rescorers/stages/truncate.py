"""Adaptive truncation: fewer candidates of tools the reranker was trained on, more of those it was not."""

from __future__ import annotations

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Count, Requirement, Stage
from toolrank_rescorers.state import Ranked, State


class Truncate(Stage, frozen=True, tag="truncate"):
    """Keeps c_i if its tool is seen and i ≤ m_s, or unseen and i ≤ m_u (ToolRerank, section 3.2).

    Positions are those in the first-stage order, not positions within each class. What was fetched on a need
    stays. With m_s = m_u no model is asked.
    """

    seen: Count = 10
    unseen: Count = 50

    def needs(self) -> frozenset[Requirement]:
        """The model, because only it knows which tools it has seen."""
        return frozenset() if self.seen == self.unseen else frozenset({"scorer"})

    def apply(self, state: State, models: Models) -> State:
        """The list without what lies beyond its position."""
        if self.seen != self.unseen and models.scorer is None:
            raise StageUnavailable("no cross-encoder is loaded, so which tools it has seen is unknown")
        kept, reasons = [], {}
        for item in state.ranked:
            limit = self._limit(item, models)
            if limit >= item.first_rank or item.fetched:
                kept.append(item)
            else:
                reasons[item.id] = f"cut: rank {item.first_rank} of the first stage is beyond {limit}"
        note = f"{len(kept)} of {len(state.ranked)} kept (seen ≤ {self.seen}, unseen ≤ {self.unseen})"
        return state.with_ranked(kept, reasons, note)

    def _limit(self, item: Ranked, models: Models) -> int:
        if models.scorer is None or item.first_rank <= min(self.seen, self.unseen):
            return self.seen
        return self.seen if models.scorer.manifest.is_seen(item.tool) else self.unseen
