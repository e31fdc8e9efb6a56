"""Stages that decide the length of the list: truncate, abstain, enough.

`truncate` cuts before the cross-encoder. `enough` keeps as many hits as a request is expected to need.
`abstain` reports that nothing found is likely to do the job.
"""

from __future__ import annotations

import numpy as np

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Count, Probability, Requirement, Stage, threshold_of
from kitpick_rescorers.state import Ranked, State


class Truncate(Stage, frozen=True, tag="truncate"):
    """Keeps c_i if its tool is seen and i ≤ m_s, or unseen and i ≤ m_u (ToolRerank, section 3.2).

    Positions count in the first-stage order, not within each class. Documents fetched on a need are kept. If
    m_s = m_u, no model is needed.
    """

    seen: Count = 10
    unseen: Count = 50

    def needs(self) -> frozenset[Requirement]:
        """The cross-encoder, whose manifest lists the tools it was trained on."""
        return frozenset() if self.seen == self.unseen else frozenset({"scorer"})

    def apply(self, state: State, models: Models) -> State:
        """The list without candidates beyond their limit."""
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


FALLBACK = 0.05
"""Threshold for a model whose manifest has no `abstain`: below it a candidate is clearly irrelevant."""


class Abstain(Stage, frozen=True, tag="abstain"):
    """Abstains when the best calibrated probability of any candidate is below the threshold.

    The list itself does not change. `threshold` None takes the threshold of the model.
    """

    requires = frozenset({"scorer"})
    ranks = False  # an empty list is the clearest case of all

    threshold: Probability | None = None

    def apply(self, state: State, models: Models) -> State:
        """The same list, with `abstained` set if its best candidate is unlikely."""
        if not state.ranked:
            return state.with_note("abstained: no candidate was found", abstained="no candidate was found")
        if not state.scored:
            raise StageUnavailable("there are no calibrated scores")
        threshold = threshold_of(models, "abstain", self.threshold, FALLBACK)
        best = max(item.probability or 0.0 for item in state.scored)
        if best >= threshold:
            return state.with_note(f"best probability {best:.2f}, threshold {threshold:.2f}")
        why = f"the best probability {best:.2f} is below {threshold:.2f}"
        return state.with_note(f"abstained: {why}", abstained=why)


class Enough(Stage, frozen=True, tag="enough"):
    """Cuts the list where it holds a chosen share of the APIs expected to serve the request.

    By calibrated probabilities p, the first m hits are expected to hold (p₁ + … + p_m) / (p₁ + … + p_most) of
    what serves the request among the first `most`. The smallest m that reaches `completeness` is kept. An API
    without a probability was not worth reading, and counts as 0. Should come last.
    """

    completeness: Probability = 0.9
    most: Count = 20

    def apply(self, state: State, models: Models) -> State:
        """The head of the list.

        Raises:
            StageUnavailable: no candidate has a probability.
        """
        head = state.ranked[: self.most]
        probabilities = np.array([item.probability or 0.0 for item in head])
        total = float(probabilities.sum())
        if not total > 0.0:
            raise StageUnavailable("there are no calibrated probabilities to tell by how much is enough")
        shares = np.cumsum(probabilities) / total
        count = int(np.searchsorted(shares, self.completeness * (1.0 - 1e-9))) + 1
        count = min(count, len(head))
        note = f"{count} kept: {shares[count - 1]:.0%} of what is expected among the first {len(head)}"
        return state.with_ranked(state.ranked[:count], {}, note)
