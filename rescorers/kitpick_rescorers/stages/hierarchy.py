"""Reranking by the hierarchy, for queries of a known kind (the ToolRerank paper).

Single-tool queries are concentrated: the tools of confident candidates come first. Multi-tool queries are
diversified: a few of each group of similar APIs come first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Count, Probability, Stage, Window, threshold_of
from kitpick_rescorers.state import Ranked, State, head_and_tail, unit_vectors

FALLBACK = 0.75
"""Threshold for a model whose manifest has no `concentrate`: the middle of ToolRerank's grid."""


class Concentrate(Stage, frozen=True, tag="concentrate"):
    """ToolRerank, Algorithm 1. R are the scored candidates in their present order.

    X = {tool(r_1)} ∪ {tool(r_i) : probability(r_i) > τ_s};  F = those of R whose tool is in X, then the rest.
    The stage needs all APIs of those tools of X that the model was not trained on. In the next
    round these are scored and part of R. `threshold` τ_s None takes the threshold of the model. From the
    probability `least` on the first hit's tool is in X; at 0, as in the paper, always: where many tools do
    the same, a first hit that is wrong would put a wrong tool's APIs first.
    """

    requires = frozenset({"scorer"})

    threshold: Probability | None = None
    least: Probability = 0.0

    def apply(self, state: State, models: Models) -> State:
        """F, then the candidates that were not scored."""
        if not state.scored:
            raise StageUnavailable("there are no calibrated scores to tell which tools are wanted")
        threshold = threshold_of(models, "concentrate", self.threshold, FALLBACK)
        head, tail = head_and_tail(state)
        best = _wanted(head, threshold, self.least)
        chosen = [item for item in head if item.tool in best]
        others = [item for item in head if item.tool not in best]
        reasons = {item.id: _reason(best[item.tool], threshold) for item in chosen}
        note = f"{len(best)} tools wanted, {len(chosen)} APIs of theirs first"
        return self._extended(state.with_ranked([*chosen, *others, *tail], reasons, note), best, models)

    def _extended(self, state: State, tools: Iterable[str], models: Models) -> State:
        if models.scorer is None:
            return state
        seen = models.scorer.manifest.is_seen
        wanted = tuple(tool for tool in tools if tool not in state.complete_tools and not seen(tool))
        return replace(state, need=replace(state.need, apis_of_tools=wanted))


def _wanted(head: Sequence[Ranked], threshold: float, least: float) -> dict[str, Ranked]:
    """X in order of appearance: each tool with its first confident API."""
    best: dict[str, Ranked] = {}
    for position, item in enumerate(head):
        probability = item.probability or 0.0
        if probability > threshold or (position == 0 and probability >= least):
            best.setdefault(item.tool, item)
    return best


def _reason(witness: Ranked, threshold: float) -> str:
    if (witness.probability or 0.0) > threshold:
        return f"its tool is wanted: {witness.candidate.api} has probability > {threshold:.2f}"
    return f"its tool is wanted: {witness.candidate.api} leads the list"


class Diversify(Stage, frozen=True, tag="diversify"):
    """ToolRerank, Algorithm 2. R are the scored candidates (or all, where nothing was scored), best first.

    Graph over R: an edge where the tool is the same or the cosine of the document vectors exceeds τ_m. The
    first `per_component` of each connected component form S; F = those in S, then the rest, both in order.
    (The first in R are the best by score whenever R is in order of score.)
    """

    similarity: Probability = 0.8
    per_component: Count = 3
    candidates: Window = 200

    def apply(self, state: State, models: Models) -> State:
        """F, then the rest of the list."""
        head, tail = head_and_tail(state, self.candidates)
        vectors, unusable = unit_vectors(head)
        component = components(adjacency(head, vectors @ vectors.T > self.similarity), state.deadline)
        place = _place_within(component)
        first = [item for item, nth in zip(head, place, strict=True) if nth <= self.per_component]
        others = [item for item, nth in zip(head, place, strict=True) if nth > self.per_component]
        reasons = {
            item.id: f"number {nth} of group {group + 1}"
            for item, nth, group in zip(head, place, component, strict=True)
        }
        after = state.with_ranked([*first, *others, *tail], reasons, f"{len(set(component))} groups")
        return after.lacking_vectors(self.name, unusable)


def adjacency(head: Sequence[Ranked], similar: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The graph (n, n): an edge where two are similar, or of one tool."""
    _, tools = np.unique([item.tool for item in head], return_inverse=True)
    same: NDArray[np.bool_] = tools[:, None] == tools[None, :]
    return similar | same


def components(adjacency: NDArray[np.bool_], deadline: Deadline = UNLIMITED) -> list[int]:
    """Connected component of every vertex of an undirected graph (n, n), numbered by their first vertices.

    Raises:
        DeadlineExceeded: nobody waits any more.
    """
    label = np.full(len(adjacency), -1)
    found = 0
    for start in range(len(adjacency)):
        if label[start] >= 0:
            continue
        reached = frontier = adjacency[start] | (np.arange(len(adjacency)) == start)
        while frontier.any():
            deadline.check("grouping")
            grown = reached | adjacency[frontier].any(axis=0)
            frontier, reached = grown & ~reached, grown
        label[reached] = found
        found += 1
    return [int(number) for number in label]


def _place_within(component: Sequence[int]) -> list[int]:
    """Position from 1 of every vertex among those of its component."""
    places: defaultdict[int, Iterator[int]] = defaultdict(lambda: count(1))
    return [next(places[number]) for number in component]
