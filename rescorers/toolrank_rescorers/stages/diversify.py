"""Diversifying for a multi-tool query: a few of each group of APIs that do the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Count, Probability, Stage, Window
from toolrank_rescorers.state import Ranked, State, head_and_tail, unit_vectors


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
        """R split by S, the rest of the list behind it."""
        head, tail = head_and_tail(state, self.candidates)
        vectors, unusable = unit_vectors(head)
        component = components(adjacency(head, vectors @ vectors.T > self.similarity))
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


def components(adjacency: NDArray[np.bool_]) -> list[int]:
    """Connected component of every vertex of an undirected graph (n, n), numbered by their first vertices."""
    label = np.full(len(adjacency), -1)
    count = 0
    for start in range(len(adjacency)):
        if label[start] >= 0:
            continue
        reached = frontier = adjacency[start] | (np.arange(len(adjacency)) == start)
        while frontier.any():
            grown = reached | adjacency[frontier].any(axis=0)
            frontier, reached = grown & ~reached, grown
        label[reached] = count
        count += 1
    return [int(number) for number in label]


def _place_within(component: Sequence[int]) -> list[int]:
    """Position from 1 of every vertex among those of its component."""
    met: dict[int, int] = {}
    places = []
    for number in component:
        met[number] = met.get(number, 0) + 1
        places.append(met[number])
    return places
