"""Learned fusion: boosted trees weigh the rankings, the cross-encoder, words and the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_rescorers.associations import associations_of
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.features import (
    FEATURES,
    LIST_EVIDENCE,
    OF_LIST,
    candidate_features,
    is_near,
    list_evidence,
    name_stems,
    stems,
)
from kitpick_rescorers.models import LearnedFusion, Models
from kitpick_rescorers.scoring import checked, isotonic
from kitpick_rescorers.stages.base import Probability, Stage, Weight
from kitpick_rescorers.state import ANSWERABLE, Ranked, State, by_score, cosines_of, lacks_dense

_PLACES = {
    "dense_rank": "dense",
    "lexical_rank": "words",
    "sentence_rank": "sentence",
    "intent_rank": "sample request",
}
"""Feature that is 1/rank → how a reason calls that ranking."""
_TELLING = (*_PLACES, "logit_rank", "gap_in_tool", "tool_candidates", "effect_fit")
"""Features that a reason may tell of."""
_NO_RANKER = "no list ranker is loaded that learned with these models"
_TRUSTED_PLACE = 10
"""A place behind this one is no reason."""


class Learned(Stage, frozen=True, tag="learned"):
    """Orders the near candidates by a learned ranker's probability that they serve the request.

    Near are those high in any ranking (see `features.is_near`), those the cross-encoder has read and those
    fetched on a need; the others follow as they stood. What the cross-encoder has not read, the ranker judges
    by the rest.

    With `abstains`, the request is answered by nothing where the whole list says so: margins, agreement of
    the rankings, near misses. What an earlier `abstain` decided stays, unless this stage `overrules` it.
    Without `abstains` it only orders: no verdict, and no probabilities.
    """

    requires = frozenset({"ranker", "vector", "lexical", "dense", "sentence"})

    abstains: bool = True
    threshold: Probability | None = None
    """Probability that the list answers the request, below which it abstains; None takes the ranker's."""
    overrules: bool = False
    """Whether its verdict on the list stands in place of an earlier `abstain`'s, and not beside it."""
    prior: Weight = 0.0
    """Weight of the order in which the list comes: p · ln(place) is subtracted from a logit."""
    cosine: Weight = 0.0
    """Weight of the cosine of request and document, added to a logit: `kitpick adapt` gives it where the
    vectors of requests were fitted to the catalog and tell more than the ranker has learned elsewhere."""
    associations: Weight = 0.0
    """Weight of how likely a text is asked for by the request's words, added to a logit: see
    `kitpick_rescorers.associations`."""
    sure_scale: Weight = 0.0
    """Where it is above 0, how sure a candidate is: σ(`sure_scale` · score + `sure_shift`) of the score that
    orders, in place of the ranker's probability. `kitpick adapt` fits both to judged requests."""
    sure_shift: Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)] = 0.0
    optional: bool = False
    """Skip the stage without reporting it as degraded where its evidence is missing: the request's vector,
    the dense ranking (a plain rerank API has neither), or every score of the cross-encoder; and where no
    ranker learned with the models at hand."""

    def reason_to_skip(self, state: State) -> str:
        """Why the stage does not run; an optional one also needs its evidence."""
        return super().reason_to_skip(state) or (_missing_evidence(state) if self.optional else "")

    def apply(self, state: State, models: Models) -> State:
        """Near candidates by logit, prior and cosine, ties by first-stage rank, then id; then the others."""
        if models.ranker is None and self.optional:
            return state.with_note(f"left out: {_NO_RANKER}")
        ranker = _usable(models.ranker)
        read = _read(state, ranker)
        scores = self._scores(state, read)
        ordered = self._ordered(read.near, scores, self._sure(state, read, scores))
        others = [item for item in state.ranked if not _is_near(item)]
        after = state.with_ranked([*ordered, *others], _reasons(read))
        if not self.abstains:
            return after
        after = replace(after, abstained="") if self.overrules else after
        return self._judged(after, read.features, read.logits, ranker)

    def _scores(self, state: State, read: _Read) -> NDArray[np.float64]:
        """What orders the near candidates (n,): the logit less the prior, cosine and associations."""
        scores = read.logits - self.prior * np.log(np.arange(1, len(read.near) + 1))
        if self.cosine:  # of candidates without a vector the mean of the others, and not nought
            scores = scores + self.cosine * cosines_of(state, read.near)
        if self.associations:
            scores = scores + self.associations * associations_of(read.asked, read.near)
        return scores

    def _sure(self, state: State, read: _Read, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """New probabilities of the near candidates (n,), None where those that they have stay.

        Where the cross-encoder has ruled out everything, its probabilities are what the verdict is about.
        """
        if not self.abstains or (state.abstained and not self.overrules):
            return None
        if not self.sure_scale:
            return read.probabilities
        logits: NDArray[np.float64] = self.sure_scale * scores + self.sure_shift
        sure: NDArray[np.float64] = 0.5 * (1.0 + np.tanh(0.5 * logits))  # σ
        return sure

    def _ordered(
        self, near: Sequence[Ranked], scores: NDArray[np.float64], probabilities: NDArray[np.float64] | None
    ) -> list[Ranked]:
        """The candidates by score; with these probabilities, made never to rise, or as they are."""
        scored = [replace(item, score=score) for item, score in zip(near, scores.tolist(), strict=True)]
        ordered = by_score(scored, lambda item: item.score)
        if probabilities is None:
            return ordered
        known = {item.id: value for item, value in zip(near, probabilities.tolist(), strict=True)}
        sure = isotonic(np.array([known[item.id] for item in ordered]))
        return [replace(item, probability=value) for item, value in zip(ordered, sure.tolist(), strict=True)]

    def _judged(
        self, state: State, features: NDArray[np.float32], logits: NDArray[np.float64], ranker: LearnedFusion
    ) -> State:
        """The state, with `abstained` set if the list as a whole does not answer the request."""
        evidence = list_evidence(features, logits.astype(np.float32), ranker.evidence)
        answerable = float(ranker.probability_answerable(evidence))
        threshold = ranker.threshold if self.threshold is None else self.threshold
        if not 0.0 <= answerable <= 1.0:
            raise StageUnavailable(f"the list ranker answered {answerable}, which is no probability")
        said = f"probability {answerable:.2f} that anything here does it, threshold {threshold:.2f}"
        if answerable >= threshold:
            return replace(state, note=said, details={ANSWERABLE: answerable})
        return replace(state, note=f"abstained: {said}", abstained=said, details={ANSWERABLE: answerable})


class _Read(NamedTuple):
    """What the ranker makes of the near candidates; arrays are by candidate."""

    asked: frozenset[str]
    """Stems of the request."""
    near: tuple[Ranked, ...]
    features: NDArray[np.float32]
    logits: NDArray[np.float64]
    probabilities: NDArray[np.float64]


def _read(state: State, ranker: LearnedFusion) -> _Read:
    """Has the ranker score the near candidates.

    Raises:
        StageUnavailable: there are none, or the ranker fails.
    """
    near = near_candidates(state)
    if not near:
        raise StageUnavailable("no candidate has a place in a ranking that the ranker reads")
    if state.vector is None:
        raise StageUnavailable("the request has no usable query vector, and the ranker learned with one")
    features = candidate_features(replace(state, ranked=near))
    try:
        logits = checked(ranker.score(features[:, _columns(ranker.features)]), len(near))
        probabilities = checked(ranker.probability(logits.astype(np.float32)), len(near))
    except Exception as error:
        raise StageUnavailable.failed("the list ranker", error) from error
    return _Read(stems(state.query), near, features, logits, probabilities)


def _reasons(read: _Read) -> dict[str, str]:
    """What speaks for each near candidate, by id."""
    values = read.features[:, _columns(_TELLING)].tolist()
    return {
        item.id: _reason(read.asked, item, dict(zip(_TELLING, row, strict=True)))
        for item, row in zip(read.near, values, strict=True)
    }


def near_candidates(state: State) -> tuple[Ranked, ...]:
    """The candidates that the stage orders, as they stand."""
    return tuple(item for item in state.ranked if _is_near(item))


def _missing_evidence(state: State) -> str:
    return lacks_dense(state) or ("" if state.scored else "the cross-encoder has scored nothing")


def _is_near(item: Ranked) -> bool:
    return item.fetched or item.logit is not None or is_near(item.candidate)


def _usable(ranker: LearnedFusion | None) -> LearnedFusion:
    if ranker is None:
        raise StageUnavailable(f"{_NO_RANKER}: choose a model set that has one with KITPICK_MODELS")
    unknown = {*ranker.features} - {*FEATURES} | {*ranker.evidence} - {*LIST_EVIDENCE, *OF_LIST}
    if unknown:
        raise StageUnavailable(f"the list ranker reads unknown features: {', '.join(sorted(unknown))}")
    return ranker


def _columns(names: Sequence[str]) -> list[int]:
    places = {name: place for place, name in enumerate(FEATURES)}
    return [places[name] for name in names]


def _reason(asked: frozenset[str], item: Ranked, values: dict[str, float]) -> str:
    """The evidence for a candidate: "dense rank 2, name says 'copy', best of its tool"."""
    said = [
        f"{ranking} rank {round(1 / values[name])}"
        for name, ranking in _PLACES.items()
        if values[name] >= 1 / _TRUSTED_PLACE
    ]
    if item.logit is not None:
        said.append(f"cross-encoder rank {round(1 / values['logit_rank'])}")
    named = sorted(name_stems(item.candidate.api) & asked)
    if named:
        said.append(f"name says {', '.join(map(repr, named))}")
    if item.logit is not None and values["gap_in_tool"] == 0 and values["tool_candidates"] > 1:
        said.append("best of its tool")
    if values["effect_fit"] < 0:
        said.append("does something else to the data than what is asked")
    return ", ".join(said) or "nothing speaks for it"
