"""Concentrating a single-tool query on the tools that a confident score points at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Probability, Stage
from toolrank_rescorers.state import Ranked, State, head_and_tail

FALLBACK = 0.75
"""Middle of the grid of ToolRerank, for a model whose manifest names no `concentrate`."""


class Concentrate(Stage, frozen=True, tag="concentrate"):
    """ToolRerank, Algorithm 1. R are the scored candidates in their present order.

    X = {tool(r_1)} ∪ {tool(r_i) : probability(r_i) > τ_s};  F = those of R whose tool is in X, then the rest.
    With `extend`, all APIs of the tools of X that the model has not seen are asked for; in the next round
    they are in R, scored, and so in their place. `threshold` τ_s None takes the model's.
    """

    requires = frozenset({"scorer"})

    threshold: Probability | None = None
    extend: bool = True

    def apply(self, state: State, models: Models) -> State:
        """R split by X, what was not scored behind it."""
        if not state.scored:
            raise StageUnavailable("there are no calibrated scores to tell which tools are wanted")
        threshold = models.threshold("concentrate", self.threshold, FALLBACK)
        head, tail = head_and_tail(state)
        best = _wanted(head, threshold)
        chosen = [item for item in head if item.tool in best]
        others = [item for item in head if item.tool not in best]
        reasons = {item.id: _reason(best[item.tool], threshold) for item in chosen}
        after = state.with_ranked(
            [*chosen, *others, *tail],
            reasons,
            f"{len(best)} tools wanted, {len(chosen)} APIs of theirs first",
        )
        return self._extended(after, best, models)

    def _extended(self, state: State, tools: Iterable[str], models: Models) -> State:
        if not self.extend or models.scorer is None:
            return state
        seen = models.scorer.manifest.is_seen
        wanted = tuple(tool for tool in tools if tool not in state.complete_tools and not seen(tool))
        return replace(state, need=replace(state.need, apis_of_tools=wanted))


def _wanted(head: Sequence[Ranked], threshold: float) -> dict[str, Ranked]:
    """X in order of appearance: the tool, and the first API that speaks for it."""
    best: dict[str, Ranked] = {}
    for position, item in enumerate(head):
        if position == 0 or (item.probability or 0.0) > threshold:
            best.setdefault(item.tool, item)
    return best


def _reason(witness: Ranked, threshold: float) -> str:
    if (witness.probability or 0.0) > threshold:
        return f"its tool is wanted: {witness.candidate.api} has probability > {threshold:.2f}"
    return f"its tool is wanted: {witness.candidate.api} leads the list"
