"""What an encoder run learns: to bring a request near its right texts and away from all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from toolrank_models.train.encoder import TrainableEncoder
from toolrank_models.train.errors import EmptyTrainingSet
from toolrank_models.train.examples import EncoderSource, RankingList, RetrievalSet
from toolrank_models.train.losses import contrastive_loss
from toolrank_models.train.ranking_metrics import RankingFigures, catalog_figures, mean_figures
from toolrank_models.train.recipe import EncoderRecipe

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class EncoderTask:
    """Requests against all texts of a step: their own hard negatives, and those of the others.

    Raises:
        EmptyTrainingSet: there is no held-out catalog with a request.
    """

    def __init__(self, recipe: EncoderRecipe, encoder: TrainableEncoder, source: EncoderSource) -> None:
        self.recipe, self.encoder, self.source = recipe, encoder, source
        self.validation = [found for found in source.retrieval() if found.queries]
        if not self.validation:
            raise EmptyTrainingSet("held-out catalog with a request")

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The BERT."""
        return self.encoder.model

    def loss(self, step: int) -> torch.Tensor:
        """InfoNCE over the texts of a step. A text that stands in several lists is one text."""
        lists = self.source.batch(step, self.recipe.lists_per_step)
        texts = list(dict.fromkeys(text for item in lists for text in item.texts))
        vectors = self.encoder.vectors([*(item.query for item in lists), *texts])
        scores = vectors[: len(lists)] @ vectors[len(lists) :].T / self.recipe.temperature
        return contrastive_loss(scores, _relevant(lists, texts))

    def figures(self) -> RankingFigures:
        """Means over the held-out catalogs, each searched whole."""
        return mean_figures([retrieval_figures(self.encoder, found) for found in self.validation])


def retrieval_figures(encode: Encode, found: RetrievalSet) -> RankingFigures:
    """NDCG, recall and completeness at 5 of searching a whole catalog by unit vectors."""
    return catalog_figures(found, encode(found.queries) @ encode(found.texts).T)


def _relevant(lists: Sequence[RankingList], texts: Sequence[str]) -> torch.Tensor:
    """(requests, texts): which texts answer which request."""
    place = {text: column for column, text in enumerate(texts)}
    labels = torch.zeros(len(lists), len(texts), dtype=torch.bool)
    for row, item in enumerate(lists):
        for text, right in zip(item.texts, item.relevant, strict=True):
            labels[row, place[text]] |= right
    return labels
