"""NNN decoding: the APIs that together reconstruct the query, instead of those that each resemble it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.nnn import Account, Problem, Solution, account, ranking, solve_active_set
from toolrank_rescorers.stages.base import Stage, Weight, Window
from toolrank_rescorers.state import (
    Matrix,
    Need,
    Neighbours,
    Ranked,
    State,
    direction_of,
    head_and_tail,
    unit_vectors,
)

_NAMED = 2
"""APIs beyond the chosen that the note names."""
_MAX_ROUNDS = 2_000
"""Far above what two hundred columns take; the certificate tells when it was not enough."""


class Decode(Stage, frozen=True, tag="decode"):
    """minimise over z ≥ 0  ½‖q − Dᵀz‖² + Σ (l1 − γ·s_i) z_i + ½·l2·‖z‖²,  D: unit vectors of the candidates.

    Order: by coefficient z, then by how near an API came to being chosen, d_iᵀr − (l1 − γ·s_i). s_i is the
    present score (standardised by `blend`), γ is `relevance`; with γ > 0 the stage needs scored candidates.
    With `neighbours` > 0, so many nearest to the residual r = q − Dᵀz, beyond those chosen, are asked for.
    This is column generation: when an exact search brings nothing new, the set is optimal over everything
    visible. The certificate covers the candidates at hand.
    """

    requires = frozenset({"vector"})

    l1: Weight = 0.3
    l2: Weight = 1.0
    relevance: Weight = 0.0
    candidates: Window = 200
    neighbours: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0

    def __post_init__(self) -> None:
        if self.relevance > 0 and self.l2 == 0:
            raise ValueError("`relevance` > 0 makes penalties negative, which needs `l2` > 0")

    def apply(self, state: State, models: Models) -> State:
        """The head of the list in the order of the decoded set, the rest behind it."""
        if self.relevance > 0 and not state.scored:
            raise StageUnavailable("there are no cross-encoder scores to weigh the penalty with")
        query = direction_of(state)
        head, tail = head_and_tail(state, self.candidates)
        ordered = sorted(head, key=lambda item: item.tie)
        vectors, unusable = unit_vectors(ordered, len(query))
        problem = Problem(vectors, query, self._penalties(ordered), self.l2)
        solution = solve_active_set(problem, max_rounds=_MAX_ROUNDS)
        after = _by_solution(state, ordered, tail, problem, solution)
        return replace(after, need=self._need(state, solution)).lacking_vectors(self.name, unusable)

    def _penalties(self, items: Sequence[Ranked]) -> Matrix:
        return self.l1 - self.relevance * np.array([item.score for item in items])

    def _need(self, state: State, solution: Solution) -> Need:
        if not self.neighbours or not solution.residual.any():
            return state.need
        # The chosen have d_iᵀr = penalty + l2 z_i and are the nearest themselves: ask for as many more.
        wanted = self.neighbours + len(solution.support)
        return replace(state.need, neighbours=Neighbours.of(solution.residual, wanted))


def _by_solution(
    state: State, items: Sequence[Ranked], tail: Sequence[Ranked], problem: Problem, solution: Solution
) -> State:
    told = account(problem, solution)
    scores = -told.shortfalls
    scores[solution.support] = solution.coefficients
    chosen = [replace(items[row], score=float(scores[row])) for row in ranking(solution, problem)]
    note = f"{len(solution.support)} of {len(items)} together reconstruct the query"
    nearest = [items[row].id for row in told.next_in_line[:_NAMED]]
    if nearest:
        note += f"; nearest to what they leave: {', '.join(nearest)}"
    reasons = _reasons(items, solution, told)
    return replace(state.with_ranked([*chosen, *tail], reasons, note), details=_details(problem, solution))


def _reasons(items: Sequence[Ranked], solution: Solution, told: Account) -> dict[str, str]:
    reasons = {}
    for row, item in enumerate(items):
        reasons[item.id] = f"not chosen, {told.shortfalls[row]:.2f} short of it"
        if (rival := told.gave_way_to[row]) >= 0:
            reasons[item.id] += f": gives way to {items[rival].id} (cosine {told.cosines[row]:.2f})"
    for row, coefficient in zip(solution.support, solution.coefficients, strict=True):
        share = f"explains {told.shares[row]:.0%} of the query"
        reasons[items[row].id] = f"chosen with weight {coefficient:.2f}, {share}"
    return reasons


def _details(problem: Problem, solution: Solution) -> Mapping[str, float]:
    """The certificate, and how much of the query is left unexplained."""
    left = float(np.linalg.norm(solution.residual) / np.linalg.norm(problem.query))
    proof = solution.certificate
    numbers = {"violation": proof.violation, "gap": proof.gap, "rounds": proof.rounds, "residual": left}
    return {name: float(number) for name, number in numbers.items()}
