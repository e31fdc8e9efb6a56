"""The query-kind head: one hidden layer on a request's vector."""

from __future__ import annotations

import copy
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kitpick_models.heads import QueryKindClassifier
from kitpick_models.manifest import HEAD, Figure, Manifest, TrainingData, write_folder, write_manifest
from kitpick_training.data.prepared import Encode
from kitpick_training.data.query_kind_requests import KindExample, query_kind_examples
from kitpick_training.data.readers import LICENCES, TITLES
from kitpick_training.errors import DivergedTraining, EmptyTrainingSet
from kitpick_training.recipe import QueryKindRecipe

Vectors = NDArray[np.float32]
Labels = NDArray[np.bool_]
Arrays = dict[str, Vectors]


class LabelledVectors(msgspec.Struct, frozen=True):
    """Vectors float32 (n, d), and whether each request needs several tools (n,)."""

    vectors: Vectors
    multi: Labels


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


def _head(dimensions: int, recipe: QueryKindRecipe) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(dimensions, recipe.hidden),
        nn.ReLU(),
        nn.Dropout(recipe.dropout),
        nn.Linear(recipe.hidden, 1),
    )


def _tensors(split: LabelledVectors) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(split.vectors), torch.from_numpy(split.multi.astype(np.float32))


def _epoch(
    head: nn.Module, optimizer: torch.optim.Optimizer, data: tuple[Tensor, Tensor], batch: int
) -> None:
    head.train()
    for chosen in torch.randperm(len(data[0])).split(batch):
        optimizer.zero_grad()
        _loss(head, *(part[chosen] for part in data)).backward()
        optimizer.step()


def _loss(head: nn.Module, vectors: Tensor, multi: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(head(vectors)[:, 0], multi)


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


def kind_vectors(data: Path, recipe: QueryKindRecipe, encode: Encode) -> KindSplits:
    """Both splits as vectors.

    Args:
        data: folder with one folder per data set.
        recipe: how many requests of which sort.
        encode: unit vectors of texts.

    Raises:
        EvaluationError: data is missing or broken.
    """
    seed = recipe.seed
    train = query_kind_examples(data, "train", seed, recipe.joined, recipe.most_written)
    validation = query_kind_examples(
        data, "validation", seed, recipe.validation_joined, recipe.validation_written
    )
    counts = Counter(example.source for example in train)
    return KindSplits(
        _vectors(train, encode),
        _vectors(validation, encode),
        tuple(example.source for example in validation),
        tuple(TrainingData(TITLES[name], LICENCES[name], counts[name]) for name in sorted(counts)),
    )


def _vectors(examples: Sequence[KindExample], encode: Encode) -> LabelledVectors:
    texts = [example.text for example in examples]
    return LabelledVectors(encode(texts), np.array([example.multi for example in examples]))


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
        encoder: identity of the encoder whose vectors it reads.
        splits: what it learned from and is measured on.
        out: the model folder, created where absent.
        measured: date and command, for the card.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **head)  # type: ignore[arg-type]
    manifest = Manifest(
        name=recipe.name,
        kind="query_kind",
        version="1",
        base_model=f"one hidden layer of {recipe.hidden} on vectors of {recipe.encoder}",
        licence="Apache-2.0",
        training=splits.data,
        score_scale="probability",
        thresholds={"multi": 0.5},
        dimensions=splits.train.vectors.shape[1],
        encoder=encoder,
    )
    manifest = write_folder(out, manifest, {HEAD: buffer.getvalue()})
    classifier = QueryKindClassifier(out, manifest)
    manifest = msgspec.structs.replace(manifest, figures=_figures(classifier, splits, measured))
    write_manifest(out, manifest)
    return manifest


def _figures(
    classifier: QueryKindClassifier, splits: KindSplits, measured: tuple[str, str]
) -> tuple[Figure, ...]:
    probabilities = np.array([classifier.probability_multi(v) for v in splits.validation.vectors], np.float32)
    sources = np.asarray(splits.validation_sources)
    found = []
    for source in ("all", *sorted(set(splits.validation_sources))):
        chosen = np.full(len(sources), True) if source == "all" else sources == source
        accuracy = float(((probabilities >= 0.5) == splits.validation.multi)[chosen].mean())
        found.append(Figure(f"held-out {source}", "accuracy", round(accuracy, 4), *measured))
    return tuple(found)
