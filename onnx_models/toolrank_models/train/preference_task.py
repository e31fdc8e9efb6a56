"""What an encoder run on graded lists learns: to bring a request near what a judge preferred for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from toolrank_models.train.encoder import TrainableEncoder
from toolrank_models.train.errors import EmptyTrainingSet
from toolrank_models.train.examples import ListSource, RankingList
from toolrank_models.train.losses import listwise_loss, teacher_order
from toolrank_models.train.ranking_metrics import RankingFigures, ranking_figures
from toolrank_models.train.recipe import PreferenceRecipe


class PreferenceTask:
    """DRetriever (Liu et al., 2024, eq. 5-7): contrastive to the best text of a list, RankNet on all grades.

    Negatives are of the same list alone: what helps one request says nothing about another.

    Raises:
        EmptyTrainingSet: no validation list has a right answer.
    """

    def __init__(self, recipe: PreferenceRecipe, encoder: TrainableEncoder, source: ListSource) -> None:
        self.recipe, self.encoder, self.source = recipe, encoder, source
        self.validation = list(source.validation())
        if not any(item.answerable for item in self.validation):
            raise EmptyTrainingSet("validation lists with a right answer")

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The BERT."""
        return self.encoder.model

    def loss(self, step: int) -> torch.Tensor:
        """Mean loss of the lists of a step."""
        lists = self.source.batch(step, self.recipe.lists_per_step)
        losses = [
            self._loss(scores, torch.tensor(item.grades))
            for scores, item in zip(self._scores(lists), lists, strict=True)
        ]
        return torch.stack(losses).mean()

    def figures(self) -> RankingFigures:
        """How the validation lists are ordered."""
        self.encoder.model.eval()
        with torch.inference_mode():
            scores = [found.numpy() for found in self._scores(self.validation)]
        return ranking_figures(self.validation, scores)

    def _loss(self, scores: torch.Tensor, grades: torch.Tensor) -> torch.Tensor:
        best = torch.arange(len(grades)) == grades.argmax()
        return self.recipe.contrast_weight * listwise_loss(scores, best) + teacher_order(scores, grades)

    def _scores(self, lists: Sequence[RankingList]) -> list[torch.Tensor]:
        """Cosines over the temperature, (texts,) for each list; a text of several lists is encoded once."""
        texts = list(dict.fromkeys(text for item in lists for text in item.texts))
        place = {text: row for row, text in enumerate(texts)}
        vectors = self.encoder.vectors([*(item.query for item in lists), *texts])
        queries, documents = vectors[: len(lists)], vectors[len(lists) :]
        return [
            documents[[place[text] for text in item.texts]] @ query / self.recipe.temperature
            for query, item in zip(queries, lists, strict=True)
        ]
