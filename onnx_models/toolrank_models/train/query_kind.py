"""Recipe of the query-kind head: one hidden layer on the vector of a request, stopped by validation."""

from __future__ import annotations

import copy
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from toolrank_models.manifest import HEAD
from toolrank_models.train.errors import DivergedTraining, EmptyTrainingSet
from toolrank_models.train.recipe import QueryKindRecipe

Vectors = NDArray[np.float32]
Labels = NDArray[np.bool_]


class KindFigures(msgspec.Struct, frozen=True):
    """Accuracy in [0, 1] and the confusion of (true, predicted) kinds."""

    accuracy: float
    single_as_single: int
    single_as_multi: int
    multi_as_single: int
    multi_as_multi: int


class LabelledVectors(msgspec.Struct, frozen=True):
    """Vectors or features float32 (n, d), whether each request needs several tools (n,), weights (n,)."""

    vectors: Vectors
    multi: Labels
    weights: Vectors


def train_on_features(
    train: LabelledVectors, validation: LabelledVectors, recipe: QueryKindRecipe
) -> dict[str, Vectors]:
    """`train_head` on features scaled to mean 0 and deviation 1; the scaling becomes part of the head.

    Raises:
        EmptyTrainingSet, DivergedTraining: as `train_head`.
    """
    center, spread = train.vectors.mean(axis=0), np.maximum(train.vectors.std(axis=0), 1e-6)

    def scaled(split: LabelledVectors) -> LabelledVectors:
        return msgspec.structs.replace(split, vectors=(split.vectors - center) / spread)

    head = train_head(scaled(train), scaled(validation), recipe)
    weight = head["weight_0"] / spread[:, None]
    return {**head, "weight_0": weight, "bias_0": head["bias_0"] - center @ weight}


def train_head(
    train: LabelledVectors, validation: LabelledVectors, recipe: QueryKindRecipe
) -> dict[str, Vectors]:
    """The arrays of `head.npz`: `weight_0`, `bias_0`, … of the epoch with the lowest validation loss.

    Raises:
        EmptyTrainingSet: one of the splits lacks one of the kinds.
        DivergedTraining: the loss is not finite.
    """
    for split, name in ((train, "training"), (validation, "validation")):
        if split.multi.all() or not split.multi.any():
            raise EmptyTrainingSet(f"{name} requests of both kinds")
    torch.manual_seed(recipe.seed)
    head = _head(train.vectors.shape[1], recipe)
    optimizer = torch.optim.AdamW(head.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    held_out = _tensors(validation)
    best, kept = float("inf"), copy.deepcopy(head.state_dict())
    for epoch in range(recipe.epochs):
        _epoch(head, optimizer, _tensors(train), recipe.batch)
        with torch.inference_mode():
            loss = float(_loss(head.eval(), *held_out))
        if not np.isfinite(loss):
            raise DivergedTraining(epoch, Path(HEAD))
        if loss < best:
            best, kept = loss, copy.deepcopy(head.state_dict())
    head.load_state_dict(kept)
    return _arrays(head)


def kind_figures(probabilities: Vectors, multi: Labels, threshold: float = 0.5) -> KindFigures:
    """Accuracy and confusion of probabilities, float32 (n,), against labels (n,)."""
    said = probabilities >= threshold
    return KindFigures(
        float((said == multi).mean()),
        int((~said & ~multi).sum()),
        int((said & ~multi).sum()),
        int((~said & multi).sum()),
        int((said & multi).sum()),
    )


def _head(dimensions: int, recipe: QueryKindRecipe) -> nn.Sequential:
    if recipe.hidden == 0:
        return nn.Sequential(nn.Linear(dimensions, 1))
    return nn.Sequential(
        nn.Linear(dimensions, recipe.hidden),
        nn.ReLU(),
        nn.Dropout(recipe.dropout),
        nn.Linear(recipe.hidden, 1),
    )


def _tensors(split: LabelledVectors) -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.from_numpy(split.vectors),
        torch.from_numpy(split.multi.astype(np.float32)),
        torch.from_numpy(split.weights),
    )


def _epoch(
    head: nn.Module, optimizer: torch.optim.Optimizer, data: tuple[Tensor, Tensor, Tensor], batch: int
) -> None:
    head.train()
    for chosen in torch.randperm(len(data[0])).split(batch):
        optimizer.zero_grad()
        _loss(head, *(part[chosen] for part in data)).backward()
        optimizer.step()


def _loss(head: nn.Module, vectors: Tensor, multi: Tensor, weights: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(head(vectors)[:, 0], multi, weights)


def _arrays(head: nn.Sequential) -> dict[str, Vectors]:
    layers = [layer for layer in head if isinstance(layer, nn.Linear)]
    arrays = {}
    for position, layer in enumerate(layers):
        arrays[f"weight_{position}"] = layer.weight.detach().numpy().T.copy()
        arrays[f"bias_{position}"] = layer.bias.detach().numpy().copy()
    return arrays
