"""Maximal marginal relevance: each next API relevant to the query and unlike those already chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.mmr import mmr
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Probability, Requirement, Stage, Window
from toolrank_rescorers.state import Matrix, Ranked, State, direction_of, head_and_tail, unit_vectors


class Mmr(Stage, frozen=True, tag="mmr"):
    """Greedy choice by (1 − δ)·relevance − δ·likeness to what is chosen already (`toolrank_rescorers.mmr`).

    Relevance, which becomes the score, is the cosine with the query vector, or the calibrated probability.
    Ties by first-stage rank, then id.
    """

    diversity: Probability = 0.3
    """δ: 0 is relevance alone."""
    relevance: Literal["cosine", "probability"] = "cosine"
    candidates: Window = 200

    def needs(self) -> frozenset[Requirement]:
        """Whatever relevance is measured by."""
        return frozenset({"vector"}) if self.relevance == "cosine" else frozenset({"scorer"})

    def apply(self, state: State, models: Models) -> State:
        """The head of the list in the order of choice, the rest behind it."""
        head, tail = head_and_tail(state, self.candidates)
        ordered = sorted(head, key=lambda item: item.tie)
        vectors, unusable = unit_vectors(ordered, None if state.vector is None else len(state.vector))
        relevance = self._relevance(state, ordered, vectors)
        chosen = [
            replace(ordered[pick], score=float(relevance[pick]))
            for pick in mmr(relevance, vectors, self.diversity)
        ]
        reasons = {item.id: f"relevance {item.score:.2f}" for item in chosen}
        return state.with_ranked([*chosen, *tail], reasons).lacking_vectors(self.name, unusable)

    def _relevance(self, state: State, items: Sequence[Ranked], vectors: Matrix) -> Matrix:
        if self.relevance == "probability":
            if not state.scored:
                raise StageUnavailable("there are no calibrated scores")
            return np.array([item.probability or 0.0 for item in items])
        return vectors @ direction_of(state)
