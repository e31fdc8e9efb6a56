"""Reranking by a cross-encoder, a model that reads query and text together."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from kitpick_engines.sentences import sentences_of
from kitpick_foundation.deadline import DeadlineExceeded
from kitpick_rescorers.errors import ScoredInPart, StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.reading.request_reading import cut_beside
from kitpick_rescorers.scoring import Logits, Scorer, checked, score_pairs
from kitpick_rescorers.stages.base import Count, Requirement, Stage, Weight
from kitpick_rescorers.state import Ranked, State, by_score, cosines_of, has_third_ranking, joined

FETCHED = 100
"""How many are scored, beyond `candidates`, of those fetched on demand."""


class CrossEncode(Stage, frozen=True, tag="cross_encode"):
    """Scores the first `candidates` of the list, and at most `FETCHED` documents that were fetched on a need.

    With `within`, a request of one sentence has only those of them scored that are near the best: the others
    hardly ever come before these. What asks for several things has all scored, because its best candidate
    says nothing about the other things; and so has a request to which votes of sample requests gave an order.

    Scored candidates come first, by logit; the others follow in their order. If a deadline stops the model,
    the first ones up to the first that was not read count as scored, and the others as the rest. If the model
    fails or returns a number that is not finite, the list does not change.
    """

    requires = frozenset({"scorer"})

    candidates: Count = 50
    within: Weight | None = None
    """How far below the best score of the list as it comes a score may be; None: as far as it likes."""
    least: Count = 4
    """How many are scored however far they are from the best."""
    cosine: Weight = 0.0
    """Candidates are ordered by logit + `cosine` · cosine with the request, probabilities stay the model's:
    vectors read people's own words better than a small cross-encoder does, which reads names better."""

    def apply(self, state: State, models: Models) -> State:
        """The list by cross-encoder score; ties by first-stage rank, then id."""
        if models.scorer is None:
            raise StageUnavailable("no cross-encoder is loaded")
        chosen = self._chosen(state)
        try:
            logits, probabilities, known = self._scores(models, models.scorer, state, chosen)
        except ScoredInPart as part:
            return self._in_part(models.scorer, state, chosen, part)
        return self._reranked(_told(state, models.scorer, chosen), chosen, logits, probabilities, known)

    def _in_part(self, scorer: Scorer, state: State, chosen: list[Ranked], part: ScoredInPart) -> State:
        """The list with the first candidates reranked, as many as were read before the deadline."""
        unread = np.flatnonzero(np.isnan(part.logits))
        read = int(unread[0]) if len(unread) else len(chosen)
        if not read:
            raise StageUnavailable.failed("the cross-encoder", part) from part
        logits = part.logits[:read]
        probabilities = checked(scorer.probability(logits.astype(np.float32)), read)
        reason = f"read the first {read} of {len(chosen)} candidates: then the time was over"
        told = _told(state.degrading(self.name, reason), scorer, chosen[:read])
        return self._reranked(told, chosen[:read], logits, probabilities, 0)

    def _reranked(
        self, state: State, chosen: list[Ranked], logits: Logits, probabilities: Logits, known: int
    ) -> State:
        columns = (logits + self._nearness(state, chosen), logits, probabilities)
        scored = {
            item.id: replace(item, score=score, logit=logit, probability=probability)
            for item, score, logit, probability in zip(chosen, *(c.tolist() for c in columns), strict=True)
        }
        rest = [item for item in state.ranked if item.id not in scored]
        return state.with_ranked(
            [*by_score(scored.values(), lambda item: item.score), *rest],
            {key: self._reason(item) for key, item in scored.items()},
            f"{len(scored)} scored, {known} of them from the cache",
        )

    def _reason(self, item: Ranked) -> str:
        logit = item.logit or 0.0
        near = f" {item.score - logit:+.2f} by its vector" if item.score != logit else ""
        return f"logit {logit:.2f}{near}, probability {item.probability:.2f}"

    def _chosen(self, state: State) -> list[Ranked]:
        proposed = self._near([item for item in state.ranked if not item.fetched][: self.candidates], state)
        return proposed + [item for item in state.ranked if item.fetched][:FETCHED]

    def _near(self, proposed: list[Ranked], state: State) -> list[Ranked]:
        if self.within is None or not proposed or sentences_of(state.query) or has_third_ranking(proposed):
            return proposed
        bound = max(item.score for item in proposed) - self.within
        return [*proposed[: self.least], *(item for item in proposed[self.least :] if item.score >= bound)]

    def _scores(
        self, models: Models, scorer: Scorer, state: State, chosen: list[Ranked]
    ) -> tuple[Logits, Logits, int]:
        """Logits, calibrated probabilities and the number of cache hits."""
        texts = [item.candidate.text for item in chosen]
        try:
            logits, known = score_pairs(scorer, models.cache, state.query, texts)
            return logits, checked(scorer.probability(logits.astype(np.float32)), len(chosen)), known
        except (DeadlineExceeded, ScoredInPart):
            raise
        except Exception as error:
            raise StageUnavailable.failed("the cross-encoder", error) from error

    def needs(self) -> frozenset[Requirement]:
        """The cross-encoder, and the request's vector where cosines count."""
        return self.requires | (frozenset({"vector"}) if self.cosine else frozenset())

    def _nearness(self, state: State, chosen: list[Ranked]) -> Logits:
        """What the cosines add to the scores, (n,): nothing where there are no vectors."""
        return self.cosine * cosines_of(state, chosen) if self.cosine else np.zeros(len(chosen))


def _told(state: State, scorer: Scorer, read: list[Ranked]) -> State:
    """The state, which says if the request was not read to its end."""
    texts = [item.candidate.text for item in read]
    cut = cut_beside(scorer, "cross-encoder", state.query, texts) if read else ()
    return replace(state, degraded=joined(state.degraded, cut))
