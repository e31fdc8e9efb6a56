"""Maximal marginal relevance: picks APIs one by one, relevant to the query and unlike those picked before.

The classical way to a diverse list (Carbonell and Goldstein, SIGIR 1998), and the baseline of NNN decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Probability, Requirement, Stage, Window
from kitpick_rescorers.state import Matrix, Ranked, State, direction_of, head_and_tail, unit_vectors


def mmr(
    relevance: NDArray[np.floating],
    vectors: NDArray[np.floating],
    diversity: float,
    limit: int | None = None,
    deadline: Deadline = UNLIMITED,
) -> NDArray[np.intp]:
    """Orders candidates greedily by (1 − δ)·relevance_i − δ·max over those already chosen of v_iᵀv_j.

    (Carbonell & Goldstein, The use of MMR, 1998; δ as in Appendix B.3 of the NNN paper.)

    Args:
        relevance: Scores (m,), on the scale of a cosine.
        vectors: Unit vectors (m, d).
        diversity: δ in [0, 1]; 0 orders by relevance alone.
        limit: How many to choose; all of them by default.
        deadline: When to give up.

    Returns:
        Positions of the chosen, first first; ties go to the lower position.

    Raises:
        ValueError: δ out of range, or shapes that do not match.
        DeadlineExceeded: nobody waits any more.
    """
    if not 0.0 <= diversity <= 1.0:
        raise ValueError(f"diversity is a share in [0, 1], got {diversity!r}")
    if vectors.ndim != 2 or relevance.shape != vectors.shape[:1]:
        raise ValueError(f"one score per vector: got {relevance.shape} and {vectors.shape}")
    wanted = len(relevance) if limit is None else max(0, min(limit, len(relevance)))
    gain = (1.0 - diversity) * relevance.astype(np.float64)
    closest = np.zeros(len(relevance))
    order = np.empty(wanted, dtype=np.intp)
    for place in range(wanted):
        deadline.check("choosing")
        chosen = int(np.argmax(gain - diversity * closest))
        order[place] = chosen
        similarity = vectors @ vectors[chosen]
        closest = np.maximum(closest, similarity) if place else similarity.astype(np.float64)
        gain[chosen] = -np.inf
    return order


class Mmr(Stage, frozen=True, tag="mmr"):
    """Greedy choice by (1 − δ)·relevance − δ·similarity to the APIs chosen before.

    Relevance, which becomes the score, is the cosine with the query vector, or the calibrated probability.
    Ties by first-stage rank, then id.
    """

    diversity: Probability = 0.3
    """δ: 0 is relevance alone."""
    relevance: Literal["cosine", "probability"] = "cosine"
    candidates: Window = 200

    def needs(self) -> frozenset[Requirement]:
        """The vector for cosine, the cross-encoder for probability."""
        return frozenset({"vector"}) if self.relevance == "cosine" else frozenset({"scorer"})

    def apply(self, state: State, models: Models) -> State:
        """The head of the list in the order of choice, then the rest."""
        head, tail = head_and_tail(state, self.candidates)
        ordered = sorted(head, key=lambda item: item.tie)
        vectors, unusable = unit_vectors(ordered, None if state.vector is None else len(state.vector))
        relevance = self._relevance(state, ordered, vectors)
        chosen = [
            replace(ordered[pick], score=float(relevance[pick]))
            for pick in mmr(relevance, vectors, self.diversity, deadline=state.deadline)
        ]
        reasons = {item.id: f"relevance {item.score:.2f}" for item in chosen}
        return state.with_ranked([*chosen, *tail], reasons).lacking_vectors(self.name, unusable)

    def _relevance(self, state: State, items: Sequence[Ranked], vectors: Matrix) -> Matrix:
        if self.relevance == "probability":
            if not state.scored:
                raise StageUnavailable("there are no calibrated scores")
            return np.array([item.probability or 0.0 for item in items])
        return vectors @ direction_of(state)
