"""Reranking by how likely a language model says Yes, shown demonstrations chosen for the question."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import msgspec

from toolrank_rescorers.demorank.pool import Demonstration
from toolrank_rescorers.demorank.relevance import ask_relevance, by_relevance
from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.llm.meter import Meter
from toolrank_rescorers.llm.planted import Shown, held_back, shown
from toolrank_rescorers.llm.reranking import PARALLEL
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Probability, Requirement, Window
from toolrank_rescorers.stages.language import LanguageStage, asking
from toolrank_rescorers.state import State


class DemoRank(LanguageStage, frozen=True, tag="demorank"):
    """Of each of the first `candidates` the model is asked whether it serves the request.

    Before each question it sees `shots` others that are answered, chosen out of the `retrieved` nearest. A
    candidate whose answer is hardly Yes or No keeps its place. A call without an answer, or a cap that is
    reached, ends the stage: then the whole incoming order stands. Descriptions that speak to the ranker are
    treated as `rankgpt` does.
    """

    candidates: Window = 20
    shots: Annotated[int, msgspec.Meta(ge=0, le=8)] = 2
    retrieved: Annotated[int, msgspec.Meta(ge=1, le=200)] = 10
    least_mass: Probability = 0.05

    def needs(self) -> frozenset[Requirement]:
        """Demonstrations, unless none are shown."""
        return frozenset({"llm", "demonstrations"} if self.shots else {"llm"})

    def apply(self, state: State, models: Models) -> State:
        """The list by the probability of Yes."""
        meter, name = self.metered(models)
        if self.shots and models.demonstrations is None:
            raise StageUnavailable("no demonstrations are configured: name their folder, or set `shots` to 0")
        head = state.ranked[: self.candidates]
        texts = {item.id: shown(item.candidate.text, self.characters) for item in head}
        with asking(name, meter), ThreadPoolExecutor(PARALLEL) as pool:
            judged = pool.map(lambda text: self._asked(meter, state.query, text, models), texts.values())
            found = dict(zip(texts, judged, strict=True))
        planted = frozenset(key for key, text in texts.items() if text.planted)
        order = held_back(list(texts), by_relevance(found), planted)
        says = {key: f"Yes {value:.2f}" for key, value in found.items() if value is not None}
        return self.told(state, order, planted, meter, "were hardly Yes or No", says)

    def _asked(self, meter: Meter, query: str, text: Shown, models: Models) -> float | None:
        chosen: Sequence[Demonstration] = ()
        if models.demonstrations is not None and self.shots:
            chosen = models.demonstrations.choose(query, text.text, self.shots, self.retrieved)
        return ask_relevance(meter, query, text.text, chosen, self.least_mass, self.characters)
