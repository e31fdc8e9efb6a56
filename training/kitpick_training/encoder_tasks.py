"""What an encoder run learns: to bring a request near its right texts and away from all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kitpick_training.encoder import TrainableEncoder
from kitpick_training.errors import EmptyTrainingSet
from kitpick_training.examples import (
    ClosedCatalog,
    EncoderSource,
    ListSource,
    RankingFigures,
    RankingList,
    RetrievalSet,
    catalog_figures,
    mean_figures,
    ranking_figures,
)
from kitpick_training.losses import contrastive_loss, listwise_loss, teacher_order
from kitpick_training.recipe import CatalogRecipe, EncoderRecipe, PreferenceRecipe

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
