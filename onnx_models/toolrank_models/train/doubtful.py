"""Lists without the texts that nobody called right and a trained model holds for right.

What a good first stage proposes often answers the request as well. Taught as wrong, such texts teach that
the likeliest text is wrong (Qu et al. 2021, RocketQA, "denoised hard negatives").
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_models.train.examples import ListScorer, ListSource, RankingList

EVEN_LOGIT = 0.0
"""As likely right as wrong: the measure where a list has no right text."""


class WithoutLikelyAnswers:
    """Lists of another source, less the doubtful texts that may answer.

    Args:
        source: where lists come from; its validation lists stay whole.
        judge: what tells likely answers; it is not trained further.
        margin: a doubtful text goes when its logit is at least the least right text's less this.
    """

    def __init__(self, source: ListSource, judge: ListScorer, margin: float) -> None:
        self._source, self._judge, self._margin = source, judge, margin

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step, some shorter than drawn; those that lost all texts are left out."""
        lists = self._source.batch(step, size)
        asked = [item for item in lists if any(item.doubtful)]
        scored = iter(self._judge.score_lists(asked))
        kept = [self._kept(item, next(scored)) if any(item.doubtful) else item for item in lists]
        return [item for item in kept if item.texts]

    def validation(self) -> Sequence[RankingList]:
        """Those of the source."""
        return self._source.validation()

    def _kept(self, item: RankingList, scores: NDArray[np.float32]) -> RankingList:
        right, doubtful = np.array(item.relevant), np.array(item.doubtful)
        least = scores[right].min() if right.any() else EVEN_LOGIT
        return _only(item, np.flatnonzero(~(doubtful & (scores >= least - self._margin))))


def _only(item: RankingList, places: NDArray[np.intp]) -> RankingList:
    return msgspec.structs.replace(
        item,
        texts=tuple(item.texts[i] for i in places),
        relevant=tuple(item.relevant[i] for i in places),
        doubtful=tuple(item.doubtful[i] for i in places),
    )
