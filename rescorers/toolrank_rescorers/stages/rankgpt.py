"""Reranking by a language model that is shown windows of the list and returns their order."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import msgspec
from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.llm.meter import Caps, Meter
from toolrank_rescorers.llm.model import CallFailed
from toolrank_rescorers.llm.permutation import ask_order
from toolrank_rescorers.llm.planted import shown
from toolrank_rescorers.llm.windows import slide
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Stage, Window
from toolrank_rescorers.state import Ranked, State

_PARALLEL = 8


class RankGpt(Stage, frozen=True, tag="rankgpt"):
    """A sliding window of `window` candidates moves from the back of the first `candidates` to the head.

    A window whose answer holds no order keeps its order. A call without an answer, or a cap that is reached,
    ends the stage: then the whole incoming order stands. Candidates whose description speaks to the ranker
    are shown without that part, and never end up before one that they came in behind.
    """

    requires = frozenset({"llm"})

    candidates: Window = 100
    window: Annotated[int, msgspec.Meta(ge=2, le=100)] = 20
    step: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    characters: Annotated[int, msgspec.Meta(ge=20, le=10_000)] = 600
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3_600)] = 60.0
    max_calls: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 40
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000_000)] = 200_000
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3

    def __post_init__(self) -> None:
        """Refuses what no pass over a list can be made of."""
        if self.step > self.window:
            raise ValueError("`step` above `window` would leave candidates that no window sees")

    def apply(self, state: State, models: Models) -> State:
        """The list in the model's order."""
        if models.llm is None:
            raise StageUnavailable("no language model is configured")
        caps = Caps(self.seconds, self.max_calls, self.max_tokens, self.max_cost, self.retries)
        meter = Meter(models.llm, caps)
        head, tail = state.ranked[: self.candidates], state.ranked[self.candidates :]
        seen = {item.id: shown(item.candidate.text, self.characters) for item in head}

        def order(window: Sequence[Ranked]) -> list[Ranked]:
            ranking = ask_order(meter, state.query, [seen[item.id].text for item in window])
            return [window[place] for place in ranking.order]

        try:
            with ThreadPoolExecutor(_PARALLEL) as pool:
                ranked = slide(head, self.window, self.step, lambda windows: pool.map(order, windows))
        except CallFailed as error:
            raise StageUnavailable(f"{models.llm.identity}: {error} ({meter.calls} calls)") from error
        except Exception as error:
            raise StageUnavailable.failed(models.llm.identity, error) from error
        planted = frozenset(key for key, text in seen.items() if text.planted)
        return self._answer(state, [*held_back(head, ranked, planted), *tail], planted, meter)

    def _answer(self, state: State, ranked: list[Ranked], planted: frozenset[str], meter: Meter) -> State:
        before = {item.id: place for place, item in enumerate(state.ranked, start=1)}
        reasons = {
            item.id: f"from {before[item.id]} to {place}" + planted_note(item, planted)
            for place, item in enumerate(ranked[: self.candidates], start=1)
        }
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(meter.outcomes.items()))
        note = f"answers: {told}; {meter.calls} calls, {meter.tokens:,} tokens"
        after = state.with_ranked(ranked, reasons, note)
        if unscored := meter.outcomes["unscored"]:
            after = after.degrading(self.name, f"{unscored} answers held no order")
        return replace(after, details=meter.figures())


def planted_note(item: Ranked, planted: frozenset[str]) -> str:
    """What the reasons say of a candidate that spoke to the ranker."""
    return "; its description speaks to the ranker" if item.id in planted else ""


def held_back(before: Sequence[Ranked], after: Sequence[Ranked], planted: frozenset[str]) -> list[Ranked]:
    """The new order, in which no planted candidate overtook one that was not planted."""
    if not planted:
        return list(after)
    came = {item.id: place for place, item in enumerate(before)}
    result = [item for item in after if item.id not in planted]
    for item in sorted((item for item in after if item.id in planted), key=lambda item: came[item.id]):
        ahead = [place for place, other in enumerate(result) if came[other.id] < came[item.id]]
        result.insert(max(ahead, default=-1) + 1, item)
    return result
