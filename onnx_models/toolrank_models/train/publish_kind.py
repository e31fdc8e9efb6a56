"""From a trained head to a model folder: arrays, card, manifest."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_models.card import card
from toolrank_models.manifest import CARD, HEAD, Figure, Manifest, TrainingData, digest, write_manifest
from toolrank_models.query_kind import QueryKindClassifier
from toolrank_models.train.query_kind import LabelledVectors, kind_figures
from toolrank_models.train.recipe import QueryKindRecipe

Arrays = dict[str, NDArray[np.float32]]


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
