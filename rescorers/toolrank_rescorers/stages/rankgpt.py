"""Reranking by a language model that is shown windows of the list and returns their order."""

from __future__ import annotations

from typing import Annotated

import msgspec

from toolrank_rescorers.llm.reranking import Windows, permuted
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Window
from toolrank_rescorers.stages.language import LanguageStage, asking
from toolrank_rescorers.state import State


class RankGpt(LanguageStage, frozen=True, tag="rankgpt"):
    """A sliding window of `window` candidates moves from the back of the first `candidates` to the head.

    A window whose answer holds no order keeps its order. A call without an answer, or a cap that is reached,
    ends the stage: then the whole incoming order stands. Candidates whose description speaks to the ranker
    are shown without that part, and never end up before one that they came in behind.
    """

    requires = frozenset({"llm"})

    candidates: Window = 100
    window: Annotated[int, msgspec.Meta(ge=2, le=100)] = 20
    step: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10

    def __post_init__(self) -> None:
        """Refuses what no pass over a list can be made of."""
        if self.step > self.window:
            raise ValueError("`step` above `window` would leave candidates that no window sees")

    def apply(self, state: State, models: Models) -> State:
        """The list in the model's order."""
        meter, name = self.metered(models)
        texts = {item.id: item.candidate.text for item in state.ranked[: self.candidates]}
        with asking(name, meter):
            found = permuted(meter, state.query, texts, Windows(self.window, self.step, self.characters))
        return self.told(state, found.order, found.planted, meter, "held no order")
