"""What an encoder run on one catalog learns: to find each request's texts among all texts of the catalog."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from toolrank_models.train.encoder import TrainableEncoder
from toolrank_models.train.encoder_task import retrieval_figures
from toolrank_models.train.errors import EmptyTrainingSet
from toolrank_models.train.examples import ClosedCatalog
from toolrank_models.train.losses import contrastive_loss
from toolrank_models.train.ranking_metrics import RankingFigures
from toolrank_models.train.recipe import CatalogRecipe


class CatalogTask:
    """InfoNCE of requests against every text of a catalog.

    In a step a few texts, taken in turn, are encoded with gradients; the others take part as they were last
    encoded. So every wrong text of the catalog is a negative of every request, at the cost of a few.

    Raises:
        EmptyTrainingSet: no request to learn from, or none to choose by.
    """

    def __init__(self, recipe: CatalogRecipe, encoder: TrainableEncoder, catalog: ClosedCatalog) -> None:
        check_catalog(catalog)
        self.recipe, self.encoder, self.catalog = recipe, encoder, catalog
        self._remembered: Tensor | None = None

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The BERT."""
        return self.encoder.model

    def loss(self, step: int) -> Tensor:
        """InfoNCE of the requests of a step over all texts."""
        chosen = chosen_requests(self.catalog, self.recipe.seed, step, self.recipe.lists_per_step)
        fresh = self._in_turn(step)
        queries = [self.catalog.queries[i] for i in chosen]
        vectors = self.encoder.vectors([*queries, *(self.catalog.texts[i] for i in fresh)])
        documents = self._documents().index_copy(0, torch.tensor(fresh), vectors[len(chosen) :])
        self._remembered = documents.detach()
        scores = vectors[: len(chosen)] @ documents.T / self.recipe.temperature
        return contrastive_loss(scores, relevance(self.catalog, chosen))

    def figures(self) -> RankingFigures:
        """Searching the catalog with the requests that were held out."""
        self._remembered = None
        return retrieval_figures(self.encoder, self.catalog.held_out)

    def _documents(self) -> Tensor:
        if self._remembered is None:
            self._remembered = torch.from_numpy(self.encoder(self.catalog.texts)).clone()
            self.encoder.model.train()
        return self._remembered

    def _in_turn(self, step: int) -> list[int]:
        count, size = len(self.catalog.texts), min(self.recipe.texts_per_step, len(self.catalog.texts))
        return [(step * size + i) % count for i in range(size)]


def check_catalog(catalog: ClosedCatalog) -> None:
    """Refuses a catalog on which nothing can be learned or chosen.

    Raises:
        EmptyTrainingSet: no request to learn from, or none to choose by.
    """
    if not catalog.queries:
        raise EmptyTrainingSet("requests to learn from")
    if not catalog.held_out.queries:
        raise EmptyTrainingSet("requests to choose by")


def chosen_requests(catalog: ClosedCatalog, seed: int, step: int, size: int) -> list[int]:
    """The requests of a step: every one once in a round, in an order that differs from round to round."""
    count = len(catalog.queries)
    round_, place = divmod(step, -(-count // size))
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed * 10_007 + round_))
    chosen: list[int] = order[place * size : (place + 1) * size].tolist()
    return chosen


def relevance(catalog: ClosedCatalog, chosen: list[int]) -> Tensor:
    """(requests, texts) bool."""
    labels = torch.zeros(len(chosen), len(catalog.texts), dtype=torch.bool)
    for row, request in enumerate(chosen):
        labels[row, list(catalog.relevant[request])] = True
    return labels
