"""What a cross-encoder run learns: to order the texts of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from toolrank_models.train.cross_encoder import TrainableCrossEncoder
from toolrank_models.train.errors import EmptyTrainingSet
from toolrank_models.train.examples import ListScorer, ListSource, RankingList
from toolrank_models.train.losses import graded_loss, list_loss, margin_mse, teacher_order
from toolrank_models.train.ranking_metrics import RankingFigures, ranking_figures
from toolrank_models.train.recipe import RerankerRecipe


class RerankerTask:
    """Lists of one request each, scored pair by pair.

    Args:
        recipe: losses and batch size.
        encoder: what is trained.
        source: training and validation lists.
        teacher: a trained cross-encoder whose logits are copied as well.

    Raises:
        EmptyTrainingSet: no validation list has a right answer.
    """

    def __init__(
        self,
        recipe: RerankerRecipe,
        encoder: TrainableCrossEncoder,
        source: ListSource,
        teacher: ListScorer | None = None,
    ) -> None:
        self.recipe, self.encoder, self.source, self.teacher = recipe, encoder, source, teacher
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
        labelled = torch.stack(
            [self._labelled(part, item) for part, item in zip(parts, lists, strict=True)]
        ).mean()
        if self.teacher is None:
            return labelled
        share = self.recipe.teacher_weight
        return share * self._copying(self.teacher, parts, lists) + (1 - share) * labelled

    def _labelled(self, scores: torch.Tensor, item: RankingList) -> torch.Tensor:
        relevant, weight = torch.tensor(item.relevant), self.recipe.bce_weight
        if item.grades:
            return graded_loss(scores, torch.tensor(item.grades), relevant, weight)
        return list_loss(scores, relevant, weight, self.recipe.order)

    def _copying(
        self, teacher: ListScorer, parts: Sequence[torch.Tensor], lists: Sequence[RankingList]
    ) -> torch.Tensor:
        copy = margin_mse if self.recipe.distil == "margin_mse" else teacher_order
        taught = (torch.from_numpy(scores) for scores in teacher.score_lists(lists))
        return torch.stack([copy(part, scores) for part, scores in zip(parts, taught, strict=True)]).mean()

    def figures(self) -> RankingFigures:
        """How the validation lists are ordered."""
        return ranking_figures(self.validation, self.encoder.score_lists(self.validation))
