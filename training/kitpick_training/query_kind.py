"""The query-kind head: one hidden layer on a request's vector or on features of its reranked list."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kitpick_models.heads import QueryKindClassifier
from kitpick_models.manifest import CARD, HEAD, Figure, Manifest, TrainingData, card, digest, write_manifest
from kitpick_training.errors import DivergedTraining, EmptyTrainingSet
from kitpick_training.recipe import QueryKindRecipe

Vectors = NDArray[np.float32]
Labels = NDArray[np.bool_]
Arrays = dict[str, Vectors]


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


class KindSplits(msgspec.Struct, frozen=True):
    """Both splits, the source of every validation request, and where the training requests came from."""

    train: LabelledVectors
    validation: LabelledVectors
    validation_sources: tuple[str, ...]
    data: tuple[TrainingData, ...]


def publish_query_kind(
    head: Arrays,
    recipe: QueryKindRecipe,
    encoder: str,
    splits: KindSplits,
    out: Path,
    measured: tuple[str, str],
) -> Manifest:
    """Writes `head.npz`, manifest and card, with the accuracy on every source of the validation split.

    Args:
        head: arrays as `train_head` returns them.
        recipe: settings of the run.
        encoder: identity of the encoder whose vectors it reads, empty for a head that reads features.
        splits: what it learned from and is measured on.
        out: the model folder, created where absent.
        measured: date and command, for the card.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **head)  # type: ignore[arg-type]
    out.mkdir(parents=True, exist_ok=True)
    (out / HEAD).write_bytes(buffer.getvalue())
    manifest = Manifest(
        name=recipe.name,
        kind="query_kind",
        version="1",
        base_model=_form(recipe),
        licence="Apache-2.0",
        files={HEAD: digest(buffer.getvalue())},
        training=splits.data,
        score_scale="probability",
        thresholds={"multi": 0.5},
        dimensions=splits.train.vectors.shape[1],
        encoder=encoder,
        features=recipe.features,
    )
    write_manifest(out, manifest)
    classifier = QueryKindClassifier(out, manifest)
    manifest = msgspec.structs.replace(manifest, figures=_figures(classifier, splits, measured))
    write_manifest(out, manifest)
    (out / CARD).write_text(card(manifest), encoding="utf-8")
    return manifest


def _form(recipe: QueryKindRecipe) -> str:
    layer = f"one hidden layer of {recipe.hidden}" if recipe.hidden else "logistic regression"
    return f"{layer} on {'a reranked list' if recipe.features else f'vectors of {recipe.encoder}'}"


def _figures(
    classifier: QueryKindClassifier, splits: KindSplits, measured: tuple[str, str]
) -> tuple[Figure, ...]:
    probabilities = np.array([classifier.probability_multi(v) for v in splits.validation.vectors], np.float32)
    sources = np.asarray(splits.validation_sources)
    found = []
    for source in ("all", *sorted(set(splits.validation_sources))):
        chosen = np.full(len(sources), True) if source == "all" else sources == source
        values = kind_figures(probabilities[chosen], splits.validation.multi[chosen])
        found.append(Figure(f"held-out {source}", "accuracy", round(values.accuracy, 4), *measured))
    return tuple(found)
