"""NNN decoding: selects the few APIs whose vectors together reconstruct the query's vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_foundation.deadline import Deadline
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Stage, Weight, Window
from kitpick_rescorers.state import (
    Matrix,
    Need,
    Neighbours,
    Ranked,
    State,
    direction_of,
    head_and_tail,
    unit_vectors,
)

if TYPE_CHECKING:  # loaded when the stage runs
    from kitpick_rescorers.nnn import Account, Hybrid, NnnProblem, Solution

_NAMED = 2
"""How many APIs outside the chosen set the note names."""
_NAMED_WORDS = 5
_MAX_ROUNDS = 2_000
"""Far more than two hundred columns take. If it is not enough, the certificate shows it."""


class Decode(Stage, frozen=True, tag="decode"):
    """minimise over z ≥ 0  ½‖q − Dᵀz‖² + Σ (l1 − γ·s_i) z_i + ½·l2·‖z‖²,  D: unit vectors of the candidates.

    The chosen APIs come first, by coefficient z. The others follow by how near they came to being chosen,
    d_iᵀr − (l1 − γ·s_i). s_i is the current score (standardised by `blend`), γ is `relevance`; γ > 0 needs
    scored candidates. With `dense_share` w < 1, rows and query are [√w · vector; √(1−w) · words].

    With `neighbours` > 0 the stage needs that many documents nearest to the residual r = q − Dᵀz, beyond the
    chosen ones. This is column generation: if an exact search finds nothing new, the set is optimal over all
    visible documents. The certificate covers the candidates of this round.
    """

    requires = frozenset({"vector"})

    l1: Weight = 0.3
    l2: Weight = 1.0
    relevance: Weight = 0.0
    dense_share: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = 1.0
    candidates: Window = 200
    neighbours: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0
    optional: bool = False
    """If no candidate has a vector (a plain rerank API), skip the stage without reporting it as degraded."""

    def __post_init__(self) -> None:
        if self.relevance > 0 and self.l2 == 0:
            raise ValueError("`relevance` > 0 makes penalties negative, which needs `l2` > 0")

    def reason_to_skip(self, state: State) -> str:
        """Why the stage does not run; an optional one also needs a candidate with a vector."""
        reason = super().reason_to_skip(state)
        if not reason and self.optional and not any(item.candidate.vector.size for item in state.ranked):
            return "no candidate brings a vector"
        return reason

    def apply(self, state: State, models: Models) -> State:
        """The head of the list in decoded order, then the rest."""
        from kitpick_rescorers.nnn import Hybrid, Lexicon

        if self.relevance > 0 and not state.scored:
            raise StageUnavailable("there are no cross-encoder scores to weigh the penalty with")
        query = direction_of(state)
        head, tail = head_and_tail(state, self.candidates)
        items = sorted(head, key=lambda item: item.tie)
        vectors, unusable = unit_vectors(items, len(query))
        words = state.query if self.dense_share < 1 else ""
        lexicon = Lexicon.of([item.candidate.text for item in items], words)
        rows = Hybrid.of(vectors, query, lexicon, self.dense_share)
        decoded = self._decoded(items, rows, state.deadline)
        after = _by_solution(state, [*items, *tail], decoded)
        return replace(after, need=self._need(state, decoded)).lacking_vectors(self.name, unusable)

    def _decoded(self, items: Sequence[Ranked], rows: Hybrid, deadline: Deadline) -> _Decoded:
        from kitpick_rescorers.nnn import NnnProblem, account, solve_active_set

        penalties = self.l1 - self.relevance * np.array([item.score for item in items])
        problem = NnnProblem(rows.rows, rows.query, penalties, self.l2)
        solution = solve_active_set(problem, max_rounds=_MAX_ROUNDS, deadline=deadline)
        return _Decoded(rows, problem, solution, account(problem, solution), self.l1)

    def _need(self, state: State, decoded: _Decoded) -> Need:
        direction = decoded.rows.direction_left(decoded.solution.residual)
        if not self.neighbours or not direction.any():
            return state.need
        # The chosen have d_iᵀr = penalty + l2 z_i and are the nearest themselves: ask for as many more.
        wanted = self.neighbours + len(decoded.solution.support)
        return replace(state.need, neighbours=Neighbours.of(direction, wanted))


class _Decoded(NamedTuple):
    """The solution for the head of a list; arrays are by row."""

    rows: Hybrid
    problem: NnnProblem
    solution: Solution
    account: Account
    l1: float
    """The penalty that was used, before relevance."""

    def scores(self) -> Matrix:
        """Coefficients of chosen rows; minus the shortfall of the others."""
        scores = -self.account.shortfalls
        scores[self.solution.support] = self.solution.coefficients
        return scores

    def order(self, scores: Matrix) -> Sequence[int]:
        """The chosen rows, then the others; each part by score, ties by place."""
        left_out = np.ones(len(scores), dtype=bool)
        left_out[self.solution.support] = False
        return list(np.lexsort((-scores, left_out)))


def _by_solution(state: State, items: Sequence[Ranked], decoded: _Decoded) -> State:
    """The state in decoded order. `items`: those that were decoded, then the rest of the list."""
    scores = decoded.scores()
    ranked = [replace(items[row], score=float(scores[row])) for row in decoded.order(scores)]
    after = state.with_ranked(
        [*ranked, *items[len(scores) :]], _reasons(items, decoded), _note(items, decoded)
    )
    return replace(after, details=_details(decoded))


def _note(items: Sequence[Ranked], decoded: _Decoded) -> str:
    account, solution = decoded.account, decoded.solution
    parts = [f"{len(solution.support)} of {len(account.shares)} together reconstruct the query"]
    if nearest := [items[row].id for row in account.next_in_line[:_NAMED]]:
        parts.append(f"nearest to what they leave: {', '.join(nearest)}")
    if words := list(decoded.rows.words_left(solution.residual))[:_NAMED_WORDS]:
        parts.append(f"words they leave: {', '.join(words)}")
    return "; ".join(parts)


def _reasons(items: Sequence[Ranked], decoded: _Decoded) -> dict[str, str]:
    account, solution, reasons = decoded.account, decoded.solution, {}
    for row, short in enumerate(account.shortfalls):
        reason = f"not chosen, {short:.2f} short of it"
        if (rival := account.gave_way_to[row]) >= 0:
            reason += f": gives way to {items[rival].id} (cosine {account.cosines[row]:.2f})"
        reasons[items[row].id] = reason
    for row, coefficient in zip(solution.support, solution.coefficients, strict=True):
        share = f"explains {account.shares[row]:.0%} of the query"
        reasons[items[row].id] = f"chosen with weight {coefficient:.2f}, {share}"
    return reasons


def _details(decoded: _Decoded) -> Mapping[str, float]:
    """The certificate, the penalty, and how much of the query is left unexplained."""
    solution, proof = decoded.solution, decoded.solution.certificate
    left = float(np.linalg.norm(solution.residual) / np.linalg.norm(decoded.problem.query))
    numbers = {"violation": proof.violation, "gap": proof.gap, "rounds": proof.rounds, "residual": left}
    return {name: float(number) for name, number in (numbers | {"l1": decoded.l1}).items()}
