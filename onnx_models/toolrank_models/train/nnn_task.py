"""NNN-Tr: request encoder and document adapter are trained through NNN decoding.

The document encoder is frozen: its vectors pass a two-layer adapter and are mixed with what they were by a
scalar that starts near 0, so that training begins at the untrained decoder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from toolrank_models.train.catalog_task import check_catalog, chosen_requests, relevance
from toolrank_models.train.encoder import TrainableEncoder
from toolrank_models.train.examples import ClosedCatalog
from toolrank_models.train.losses import contrastive_loss
from toolrank_models.train.nnn_solver import implicit_solution, margin_loss, unrolled_fista
from toolrank_models.train.ranking_metrics import RankingFigures, catalog_figures
from toolrank_models.train.recipe import NnnRecipe

_START = 0.01
"""Share of the adapted vector at the start."""


class Adapter(torch.nn.Module):  # type: ignore[misc]
    """d + s · A(d), of unit length; A has two layers with GELU between them."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(dimensions, dimensions)
        self.outer = torch.nn.Linear(dimensions, dimensions)
        self.share = torch.nn.Parameter(torch.tensor(_START))

    def forward(self, documents: Tensor) -> Tensor:
        """Unit vectors (n, d) for unit vectors (n, d)."""
        adapted = self.outer(torch.nn.functional.gelu(self.inner(documents)))
        return torch.nn.functional.normalize(documents + self.share * adapted, dim=1)


class NnnTask:
    """The right texts' coefficients must exceed the wrong ones' by a factor.

    Args:
        recipe: penalties, solver and loss.
        encoder: of requests, trained; of texts, as it is now.
        catalog: the texts, and the requests over them.

    Raises:
        EmptyTrainingSet: no request to learn from, or none to choose by.
    """

    def __init__(self, recipe: NnnRecipe, encoder: TrainableEncoder, catalog: ClosedCatalog) -> None:
        check_catalog(catalog)
        self.recipe, self.encoder, self.catalog = recipe, encoder, catalog
        self._frozen = torch.from_numpy(encoder(catalog.texts)).clone()
        torch.manual_seed(recipe.seed)
        self.adapter = Adapter(self._frozen.shape[1])
        self._both = torch.nn.ModuleDict({"encoder": encoder.model, "adapter": self.adapter})

    @property
    def model(self) -> Any:  # noqa: ANN401
        """Request encoder and adapter."""
        return self._both

    def loss(self, step: int) -> Tensor:
        """Margin of the coefficients and, so that every right text has a gradient, some InfoNCE."""
        recipe = self.recipe
        chosen = chosen_requests(self.catalog, recipe.seed, step, recipe.lists_per_step)
        queries = self.encoder.vectors([self.catalog.queries[i] for i in chosen])
        documents, relevant = self.adapter(self._frozen), relevance(self.catalog, chosen)
        margin = margin_loss(
            self._coefficients(documents, queries), relevant, recipe.margin, recipe.margin_temperature
        )
        contrast = contrastive_loss(queries @ documents.T / recipe.temperature, relevant)
        return margin + recipe.contrast_weight * contrast

    def figures(self) -> RankingFigures:
        """Decoding the held-out requests: by coefficient, and by similarity where there is none."""
        found = self.catalog.held_out
        queries = torch.from_numpy(self.encoder(found.queries))
        documents = torch.from_numpy(self.document_vectors())
        with torch.inference_mode():
            z = unrolled_fista(documents, queries, self.recipe.l1, self.recipe.l2, self.recipe.solver_steps)
            scores = torch.where(z > 0, 2.0 + z, queries @ documents.T)
        return catalog_figures(found, scores.numpy())

    def document_vectors(self) -> NDArray[np.float32]:
        """Adapted unit vectors of all texts, float32 (n, d)."""
        with torch.inference_mode():
            adapted: NDArray[np.float32] = self.adapter(self._frozen).numpy()
        return adapted

    def _coefficients(self, documents: Tensor, queries: Tensor) -> Tensor:
        l1, l2, steps = self.recipe.l1, self.recipe.l2, self.recipe.solver_steps
        if self.recipe.gradient == "unrolled":
            return unrolled_fista(documents, queries, l1, l2, steps)
        with torch.no_grad():
            support = unrolled_fista(documents, queries, l1, l2, steps) > 0
        return implicit_solution(documents, queries, support, l1, l2)
