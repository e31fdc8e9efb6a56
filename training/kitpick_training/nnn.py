"""NNN-Tr: request encoder and document adapter are trained through NNN decoding.

    minimise over z ≥ 0    ½‖q − Dᵀz‖² + λ1·Σ z_i + ½ λ2 ‖z‖²,    D (n, d): document vectors as rows

The document encoder is frozen: its vectors pass a two-layer adapter and are mixed with what they were by a
scalar that starts near 0, so that training begins at the untrained decoder.

Gradients reach the vectors by unrolling: autograd walks back through every step of the solver.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kitpick_training.encoder import TrainableEncoder
from kitpick_training.encoder_tasks import check_catalog, chosen_requests, relevance
from kitpick_training.examples import ClosedCatalog, RankingFigures, catalog_figures
from kitpick_training.losses import contrastive_loss
from kitpick_training.recipe import NnnRecipe

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
        z = unrolled_fista(documents, queries, recipe.l1, recipe.l2, recipe.solver_steps)
        margin = margin_loss(z, relevant, recipe.margin, recipe.margin_temperature)
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


def unrolled_fista(documents: Tensor, queries: Tensor, l1: float, l2: float, steps: int) -> Tensor:
    """Coefficients after `steps` steps of FISTA from 0 (Beck and Teboulle 2009), (b, n) for queries (b, d).

    The step is 1/L with L = λ_max(DDᵀ) + λ2; L is treated as a constant of the backward pass.
    """
    step = 1.0 / (largest_eigenvalue(documents) + l2)
    z = moved = queries.new_zeros(len(queries), len(documents))
    momentum = queries.new_ones(len(queries), 1)
    for _ in range(steps):
        residual = queries - moved @ documents
        gradient = l1 + l2 * moved - residual @ documents.T
        following = torch.relu(moved - step * gradient)
        next_momentum = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        moved = following + (momentum - 1) / next_momentum * (following - z)
        z, momentum = following, next_momentum
    return z


def largest_eigenvalue(documents: Tensor) -> float:
    """λ_max(DDᵀ), found on the smaller of the two Gram matrices."""
    with torch.no_grad():
        wide = documents.shape[0] > documents.shape[1]
        gram = documents.T @ documents if wide else documents @ documents.T
        return float(torch.linalg.eigvalsh(gram)[-1])


def margin_loss(z: Tensor, relevant: Tensor, margin: float = 1.5, temperature: float = 0.05) -> Tensor:
    """The smallest right coefficient must exceed the largest wrong one by a factor, both in soft form.

    mean of softplus((margin · softmax-mean of wrong − softmin-mean of right) / temperature).

    Args:
        z: coefficients (b, n).
        relevant: (b, n) bool, both values in every row.
        margin: how many times larger the right ones should be.
        temperature: of softmin, softmax and the hinge: small is hard.
    """
    right, wrong = _soft_extreme(z, relevant, -temperature), _soft_extreme(z, ~relevant, temperature)
    return torch.nn.functional.softplus((margin * wrong - right) / temperature).mean()


def _soft_extreme(z: Tensor, chosen: Tensor, temperature: float) -> Tensor:
    """Mean of the chosen entries weighted by softmax(z / temperature): towards the minimum if negative."""
    weights = torch.softmax((z / temperature).masked_fill(~chosen, float("-inf")), dim=1)
    return (weights * z).sum(dim=1)
