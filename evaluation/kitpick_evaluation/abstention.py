"""Abstention: how often it is right, and the threshold that fits a catalog.

Every request is also asked without the tools that answer it. How sure a ranker is of a good answer differs
between catalogs, so that one threshold for all is too low for most of them. Two things show the right one:

- judged requests: the threshold that refuses few enough of them;
- without any, a *cohort*: descriptions of some of the catalog's own APIs, each asked while its tool is
  hidden. The ranker's probabilities for these show what the catalog looks like to requests that it cannot
  serve, as impostors show the scale of a speaker's scores (Auckenthaler et al. 2000, Digital Signal
  Processing 10, on zero normalisation).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from heapq import nsmallest

import msgspec
import numpy as np

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.answer import Answer
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.stages import Abstain, Learned, Stage

ALARMS = 0.05
"""Share of the answerable requests that may be refused, where nobody says otherwise."""
COHORT = 100
"""Requests of a cohort."""


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
    return judges_lists(profile) or any(isinstance(stage, Abstain) for stage in profile.stages)


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


def judge_of(profile: Profile) -> Learned | None:
    """The stage of a profile that judges the whole list, if it has one."""
    return next((each for each in profile.stages if isinstance(each, Learned) and each.abstains), None)


def judges_lists(profile: Profile) -> bool:
    """Whether the profile's verdict is the list ranker's, and not the cross-encoder's alone."""
    return judge_of(profile) is not None


def with_threshold(profile: Profile, threshold: float) -> Profile:
    """The profile with this threshold where it decides: in `learned` if that abstains, else in `abstain`."""
    return _with(profile, Learned if judges_lists(profile) else Abstain, threshold)


def undecided(profile: Profile) -> Profile:
    """The profile with nothing below its threshold: what it still refuses is refused by another stage."""
    return with_threshold(profile, 0.0)


def decided_alone(profile: Profile, threshold: float) -> Profile:
    """The profile with this threshold, where a list ranker that decides overrules every `abstain`.

    Of what the cross-encoder alone rules out, the list ranker calls half likely, and rightly so.
    """
    stages: list[Stage] = list(with_threshold(profile, threshold).stages)
    judges = [place for place, stage in enumerate(stages) if isinstance(stage, Learned) and stage.abstains]
    for place in range(judges[-1], len(stages)) if judges else ():
        stages[place] = _alone(stages[place])
    return msgspec.structs.replace(profile, stages=tuple(stages))


def _alone(stage: Stage) -> Stage:
    """The list ranker's stage, or one behind it, so that nothing but the list ranker decides."""
    if isinstance(stage, Abstain):
        return msgspec.structs.replace(stage, threshold=0.0)
    return msgspec.structs.replace(stage, overrules=True) if isinstance(stage, Learned) else stage


def fit_with_confidence(profile: Profile, answers: Sequence[Answer], most_false: float = ALARMS) -> Profile:
    """The profile with a threshold that refuses at most this share of answerable requests, with `CONFIDENCE`.

    `answers` are those of `decided_alone(profile, 0.0)` to answerable requests; the profile can abstain.
    """
    ranked = judges_lists(profile)
    sure = [(each.answerable or 0.0) if ranked else each.confidence for each in answers]
    kept = [0.0 if each.abstained else value for each, value in zip(answers, sure, strict=True)]
    return decided_alone(profile, confident_threshold(kept, most_false))


def fit_to_requests(profile: Profile, answers: Sequence[Answer], most_false: float = ALARMS) -> Profile:
    """The profile with a threshold that refuses at most this share of further answerable requests.

    Where a list ranker decides that does not overrule an `abstain` before it, this one may refuse half of
    that; if it refuses more of these, it gets a lower threshold of its own.

    Args:
        profile: it can abstain.
        answers: of `undecided(profile)` to answerable requests.
        most_false: share of requests, in (0, 1).
    """
    if not judges_lists(profile):
        return with_threshold(profile, threshold_for([each.confidence for each in answers], most_false))
    ruled_out = [each.abstained for each in answers]
    if sum(ruled_out) > most_false / 2 * (len(answers) + 1):
        floor = threshold_for(
            [each.confidence if each.abstained else 1.0 for each in answers], most_false / 2
        )
        profile = _with(profile, Abstain, floor)
        ruled_out = [each.abstained and each.confidence < floor for each in answers]
    judged = [0.0 if out else each.answerable or 0.0 for out, each in zip(ruled_out, answers, strict=True)]
    return with_threshold(profile, threshold_for(judged, most_false))


def _with(profile: Profile, deciding: type[Learned | Abstain], threshold: float) -> Profile:
    stages = tuple(
        msgspec.structs.replace(stage, threshold=threshold) if isinstance(stage, deciding) else stage
        for stage in profile.stages
    )
    return msgspec.structs.replace(profile, stages=stages)


def threshold_for(sure: Sequence[float], most_false: float = ALARMS) -> float:
    """The largest threshold that refuses a new request of this kind with at most this probability.

    What is below a threshold is refused. Of n exchangeable values a further one is below the k-th smallest
    with a probability of at most k/(n + 1), so the one with k = ⌊most_false · (n + 1)⌋ is it, and 0 where
    there are too few values (Vovk et al. 2005, Algorithmic Learning in a Random World, conformal prediction).
    """
    place = _place(len(sure), most_false)
    return sorted(sure)[place - 1] if place else 0.0


def _place(requests: int, most_false: float) -> int:
    return min(math.floor(most_false * (requests + 1) + 1e-9), requests)


CONFIDENCE = 0.95


def refused_at_most(requests: int, most_false: float = ALARMS) -> float:
    """The share of further requests that the threshold of so many refuses at most, with `CONFIDENCE`.

    `threshold_for` holds in the mean over all draws of the requests. By the draw at hand the share is
    distributed as Beta(k, n + 1 − k), and smaller where values are equal (Vovk 2012, Conditional validity of
    inductive conformal predictors): by 60 requests 5 % may be 10 %, by 1,000 6.2 %.
    That quantile is the bound of Clopper and Pearson for k − 1 that are refused.
    """
    place = _place(requests, most_false)
    return most_refused(place - 1, requests) if place else 0.0


def confident_threshold(sure: Sequence[float], most_false: float = ALARMS) -> float:
    """The largest threshold that refuses at most this share of further requests, with `CONFIDENCE`.

    What is below a threshold is refused. Of requests drawn alike, the share below the k-th smallest of n
    values is above p as often as fewer than k of n tosses of a coin come up that does so with p (Wilks 1941,
    Determination of sample sizes for setting tolerance limits). 0 where there are too few values.
    """
    place = _confident_place(len(sure), most_false)
    return sorted(sure)[place - 1] if place else 0.0


def least_requests(most_false: float) -> int:
    """So many requests tell a threshold with `CONFIDENCE`: 59 that of 5 %."""
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log1p(-most_false) - 1e-9)


def most_refused(refused: int, requests: int) -> float:
    """The largest share of all requests that goes with so many refused, with `CONFIDENCE`.

    The bound of Clopper and Pearson (1934), for requests drawn alike and a threshold chosen without them.
    """
    if refused >= requests:
        return 1.0
    low, high = refused / requests, 1.0
    for _ in range(50):  # halved each time
        share = (low + high) / 2
        low, high = (share, high) if _at_most(refused, requests, share) > 1.0 - CONFIDENCE else (low, share)
    return high


def _confident_place(requests: int, most_false: float) -> int:
    doubt = 1.0 - CONFIDENCE
    return next(
        (place for place in range(requests) if _at_most(place, requests, most_false) > doubt), requests
    )


def _at_most(successes: int, tosses: int, share: float) -> float:
    """Probability of at most so many successes."""
    return math.fsum(_exactly(count, tosses, share) for count in range(successes + 1))


def _exactly(successes: int, tosses: int, share: float) -> float:
    failures = tosses - successes
    ways = math.lgamma(tosses + 1) - math.lgamma(successes + 1) - math.lgamma(failures + 1)
    return math.exp(ways + successes * math.log(share) + failures * math.log1p(-share))


_SHORTEST = 20
_LONGEST = 200
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")


class CohortRequest(msgspec.Struct, frozen=True):
    """What an API says of itself, as a request. It is to be asked while the API's tool is hidden."""

    api: str
    tool: str
    """The key of the API's tool."""
    text: str


def cohort_requests(documents: Iterable[ApiDocument], count: int = COHORT) -> list[CohortRequest]:
    """First sentences of descriptions, at most `count`, drawn by digest: the same ones in every run.

    Descriptions of fewer than 20 characters say too little to be asked.
    """
    telling = (document for document in documents if len(document.description.strip()) >= _SHORTEST)
    drawn = nsmallest(count, telling, key=_draw)
    return [CohortRequest(each.id, each.tool_key, _begin(each)) for each in drawn]


def _begin(document: ApiDocument) -> str:
    return _SENTENCE.split(document.description.strip(), maxsplit=1)[0][:_LONGEST]


def _draw(document: ApiDocument) -> tuple[bytes, str]:
    digest = blake2b(document.id.encode("utf-8", "surrogatepass"), digest_size=8)
    return digest.digest(), document.id


COHORT_QUANTILE = 0.375
"""Between the lower quartile and the median: what stands above them happens to be served by another tool."""


def cohort_level(cohort: Sequence[float]) -> float:
    """The log-odds that are typical of what the catalog cannot serve, from probabilities (n,), n ≥ 1."""
    probabilities = np.clip(np.asarray(cohort, np.float64), 1e-6, 1.0 - 1e-6)
    return float(np.quantile(np.log(probabilities / (1.0 - probabilities)), COHORT_QUANTILE))


def cohort_threshold(cohort: Sequence[float], margin: float) -> float:
    """The probability whose log-odds are `margin` above what is typical of what the catalog cannot serve."""
    return 1.0 / (1.0 + math.exp(-(cohort_level(cohort) + margin)))


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Area under the ROC curve: P(positive > negative) + ½ P(equal) (Mann & Whitney, 1947)."""
    ordered = np.sort(np.asarray(negatives, dtype=np.float64))
    scores = np.asarray(positives, dtype=np.float64)
    below = np.searchsorted(ordered, scores, side="left")
    not_above = np.searchsorted(ordered, scores, side="right")
    return float((below + not_above).sum() / 2 / (len(scores) * len(ordered)))
