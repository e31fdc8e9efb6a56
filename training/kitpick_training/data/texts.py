"""Real texts of the training splits, half descriptions and half requests, to fit what reads texts alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from kitpick_engines.text import retrieval_text
from kitpick_evaluation.datasets.records import LabelledCatalog
from kitpick_training.data.readers import READERS
from kitpick_training.data.sources import ENCODER_MIXTURE, HOLDOUT
from kitpick_training.data.split import take_split


def training_catalogs(data: Path) -> list[LabelledCatalog]:
    """The training split of every data set that encoders learn from.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
    """
    return [take_split(READERS[name](data), "train", HOLDOUT) for name in ENCODER_MIXTURE.catalogs]


def sample_texts(catalogs: Sequence[LabelledCatalog], count: int, seed: int) -> list[str]:
    """Different texts in random order, about `count`; each catalog gives its share of the mixture."""
    rng = random.Random(seed)
    found: set[str] = set()
    for catalog, share in zip(catalogs, ENCODER_MIXTURE.catalogs.values(), strict=True):
        descriptions = sorted({retrieval_text(document) for document in catalog.documents.values()})
        requests = sorted({request.text for request in catalog.requests})
        for texts in (descriptions, requests):
            found.update(rng.sample(texts, min(len(texts), round(count * share / 2))))
    return rng.sample(sorted(found), len(found))
