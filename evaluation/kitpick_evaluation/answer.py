"""Answers of a system to requests, as an evaluation reads them."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidRanking
from kitpick_rescorers.request import Rescored


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A ranking with its cost: the answer of a profile or an engine."""

    ids: tuple[str, ...]
    """APIs, best first."""
    scores: tuple[float, ...] = ()
    """One a hit, finite; empty where the system tells none."""
    probabilities: tuple[float | None, ...] = ()
    """Calibrated probability of each hit in [0, 1], None where it was not scored; or empty."""
    tokens: int = 0
    """Size of the definitions that would be handed to a model."""
    abstained: bool = False
    answerable: float | None = None
    """Probability in [0, 1] that anything here serves the request; None where the system does not say."""

    @classmethod
    def of(cls, rescored: Rescored) -> Answer:
        """The answer of a pipeline."""
        return cls(
            ids=tuple(hit.id for hit in rescored.results),
            scores=tuple(hit.score for hit in rescored.results),
            probabilities=tuple(hit.probability for hit in rescored.results),
            abstained=rescored.abstained,
            answerable=rescored.answerable,
        )

    @property
    def confidence(self) -> float:
        """The best probability of any hit, 0 if nothing was scored."""
        return max((value for value in self.probabilities if value is not None), default=0.0)


Ranker = Callable[[JudgedQuery, int], Answer]
"""Maps a request and a depth to an answer of at most that many APIs. Judgements are not to be looked at."""


def check_answer(query_id: str, answer: Answer) -> Answer:
    """Returns the answer if it can be judged.

    Raises:
        InvalidRanking: an API twice, a score that is not finite, or scores of another number than hits.
    """
    if len(set(answer.ids)) != len(answer.ids):
        raise InvalidRanking(query_id, "the ranking names an API twice")
    for name, values in (("scores", answer.scores), ("probabilities", answer.probabilities)):
        if values and len(values) != len(answer.ids):
            raise InvalidRanking(query_id, f"{len(values)} {name} for {len(answer.ids)} hits")
        if any(value is not None and not math.isfinite(value) for value in values):
            raise InvalidRanking(query_id, f"{name} that are not finite: such a system orders nothing")
    return answer
