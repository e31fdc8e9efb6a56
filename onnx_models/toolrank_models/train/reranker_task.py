"""What a cross-encoder run learns: to order the texts of a list."""

from __future__ import annotations

from typing import Any

import torch

from toolrank_models.train.cross_encoder import TrainableCrossEncoder
from toolrank_models.train.errors import EmptyTrainingSet
from toolrank_models.train.examples import ListSource
from toolrank_models.train.losses import list_loss
from toolrank_models.train.ranking_metrics import RankingFigures, ranking_figures
from toolrank_models.train.recipe import RerankerRecipe


class RerankerTask:
    """Lists of one request each, scored pair by pair.

    Raises:
        EmptyTrainingSet: no validation list has a right answer.
    """

    def __init__(self, recipe: RerankerRecipe, encoder: TrainableCrossEncoder, source: ListSource) -> None:
        self.recipe, self.encoder, self.source = recipe, encoder, source
        self.validation = list(source.validation())
        if not any(item.answerable for item in self.validation):
            raise EmptyTrainingSet("validation lists with a right answer")

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The sequence classifier."""
        return self.encoder.model

    def loss(self, step: int) -> torch.Tensor:
        """Mean loss of the lists of a step."""
        lists = self.source.batch(step, self.recipe.lists_per_step)
        logits = self.encoder.logits([(item.query, text) for item in lists for text in item.texts])
        parts = torch.split(logits, [len(item.texts) for item in lists])
        losses = [
            list_loss(part, torch.tensor(item.relevant), self.recipe.bce_weight)
            for part, item in zip(parts, lists, strict=True)
        ]
        return torch.stack(losses).mean()

    def figures(self) -> RankingFigures:
        """How the validation lists are ordered."""
        return ranking_figures(self.validation, self.encoder.score_lists(self.validation))
