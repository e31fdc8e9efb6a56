"""Measures abstention: every request is also asked without the tools that answer it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from kitpick_evaluation.answer import Answer
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.stages import Abstain, Learned


class AbstentionQuality(msgspec.Struct, frozen=True):
    """Rates in [0, 1].

    A request counts as answerable when the catalog holds its relevant APIs. It counts as unanswerable when it
    was judged to have none. Where no request was, the answerable ones are asked again with all APIs of the
    relevant tools taken away. Other tools may still do the job there, unlabelled: `caught` is then a lower
    bound.
    """

    profile: str
    answerable: int
    unanswerable: int
    false_alarms: float
    """Share of the answerable requests abstained from: lower is better."""
    caught: float
    """Share of the unanswerable ones abstained from."""
    precision: float
    """Share of abstentions that were right; 1 where there were none."""
    auc: float
    """Probability that an answerable request is surer of its best hit than an unanswerable one, ties half."""


def can_abstain(profile: Profile) -> bool:
    """Whether a profile has a stage that can abstain."""
    return any(isinstance(s, Abstain) or (isinstance(s, Learned) and s.abstains) for s in profile.stages)


def abstention_quality(
    profile: str, answered: Sequence[Answer], deprived: Sequence[Answer]
) -> AbstentionQuality:
    """Rates over answers to requests, and to the same requests without the tools that answer them.

    Raises:
        ValueError: either is empty.
    """
    if not answered or not deprived:
        raise ValueError("abstention is judged on answerable and unanswerable requests, one kind is missing")
    false = sum(answer.abstained for answer in answered)
    right = sum(answer.abstained for answer in deprived)
    return AbstentionQuality(
        profile=profile,
        answerable=len(answered),
        unanswerable=len(deprived),
        false_alarms=false / len(answered),
        caught=right / len(deprived),
        precision=right / (right + false) if right + false else 1.0,
        auc=auc([answer.confidence for answer in answered], [answer.confidence for answer in deprived]),
    )


def threshold_for(answered: Sequence[Answer], most_false: float = 0.05) -> float:
    """The highest threshold, in hundredths, with at most so large a share of false alarms."""
    sure = np.array([answer.confidence for answer in answered])
    thresholds = [hundredth / 100 for hundredth in range(100)]
    return max(t for t in thresholds if (sure < t).mean() <= most_false)


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Area under the ROC curve: P(positive > negative) + ½ P(equal) (Mann & Whitney, 1947)."""
    ordered = np.sort(np.asarray(negatives, dtype=np.float64))
    scores = np.asarray(positives, dtype=np.float64)
    below = np.searchsorted(ordered, scores, side="left")
    not_above = np.searchsorted(ordered, scores, side="right")
    return float((below + not_above).sum() / 2 / (len(scores) * len(ordered)))
