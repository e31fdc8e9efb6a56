"""Team-draft interleaving: two rankings in one answer, so that the same people compare them.

The rankings draw in turns, as captains choose teams: in each round a coin says who draws first, and each
takes its best item that is not drawn yet (Radlinski, Kurup and Joachims, CIKM 2008). An item that a user
chooses is a point for the ranking that drew it. Neither ranking gains by its place in the answer.

Which ranking is better is decided by a sequential test that may be looked at after every answer. Under the
hypothesis that a decided answer falls to the candidate with probability p, the ratio of the mixture over all
probabilities (uniform) to p's own likelihood is a martingale that begins at 1. It ever reaches 1/α with
probability α at most (Ville's inequality), however often somebody looks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

import msgspec

Team = Literal["baseline", "candidate"]
Item = TypeVar("Item")
_GRID = 2_000


class Drafted(msgspec.Struct, Generic[Item], frozen=True):
    """An item of an answer, and the ranking that drew it."""

    item: Item
    team: Team


def team_draft(
    baseline: Sequence[Item], candidate: Sequence[Item], most: int, draws: random.Random
) -> list[Drafted[Item]]:
    """Both rankings in one list of at most `most` items, each item once.

    Items are distinct within a ranking, best first. `draws` says who draws first in each round.
    """
    drafted: dict[Item, Team] = {}
    rankings: dict[Team, list[Item]] = {"baseline": list(baseline), "candidate": list(candidate)}
    while len(drafted) < most:
        order: list[Team] = ["baseline", "candidate"]
        draws.shuffle(order)
        before = len(drafted)
        for team in order:
            drawn = next((item for item in rankings[team] if item not in drafted), None)
            if drawn is not None and len(drafted) < most:
                drafted[drawn] = team
        if len(drafted) == before:
            break
    return [Drafted(item, team) for item, team in drafted.items()]


class Score(msgspec.Struct, frozen=True):
    """Answers by what users chose from them."""

    baseline: int = 0
    """Answers from which more items of the baseline were chosen."""
    candidate: int = 0
    tied: int = 0
    """Answers from which as many were chosen of both, at least one."""

    @property
    def decided(self) -> int:
        """Answers that fell to one of the two."""
        return self.baseline + self.candidate

    @property
    def share(self) -> float | None:
        """Share of the decided answers that fell to the candidate, None without any."""
        return self.candidate / self.decided if self.decided else None

    def evidence(self, probability: float = 0.5) -> float:
        """How many times likelier than under `probability` the score is under the mixture, at most e^700.

        `probability` is that of a decided answer to fall to the candidate, in (0, 1).
        """
        mixture = math.lgamma(self.candidate + 1) + math.lgamma(self.baseline + 1)
        mixture -= math.lgamma(self.decided + 2)
        alone = self.candidate * math.log(probability) + self.baseline * math.log1p(-probability)
        return math.exp(min(mixture - alone, 700.0))

    def winner(self, alpha: float) -> Team | None:
        """Which is better, wrong with probability `alpha` at most over all looks; None while it is open."""
        if self.evidence() < 1 / alpha:
            return None
        return "candidate" if self.candidate > self.baseline else "baseline"

    def interval(self, alpha: float) -> tuple[float, float]:
        """Probabilities that are not excluded: all looks together hold the true one with 1 − `alpha`.

        Returns:
            The ends in [0, 1], on a grid of 1/2000, rounded outwards.
        """
        kept = [step / _GRID for step in range(1, _GRID) if self.evidence(step / _GRID) < 1 / alpha]
        between = self.candidate / max(1, self.decided)  # what is kept lies between two steps of the grid
        low, high = (kept[0], kept[-1]) if kept else (between, between)
        return max(0.0, low - 1 / _GRID), min(1.0, high + 1 / _GRID)
