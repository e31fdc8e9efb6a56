"""The whole way from the data folder to labelled vectors for the query-kind head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolrank_evaluation.training_sets import bfcl, metatool, openapi, sealtools, taskbench
from toolrank_evaluation.training_sets.neighbours import Encode
from toolrank_evaluation.training_sets.provenance import TITLES
from toolrank_evaluation.training_sets.query_kind_requests import KindExample, query_kind_examples
from toolrank_models.manifest import TrainingData
from toolrank_models.train.publish_kind import KindSplits
from toolrank_models.train.query_kind import LabelledVectors
from toolrank_models.train.recipe import QueryKindRecipe

LICENCES = {
    "openapi": openapi.LICENCE,
    "bfcl": bfcl.LICENCE,
    "sealtools": sealtools.LICENCE,
    "metatool": metatool.LICENCE,
    "taskbench": taskbench.LICENCE,
}


def kind_vectors(data: Path, recipe: QueryKindRecipe, holdout: float, encode: Encode) -> KindSplits:
    """Both splits as vectors. Synthetic requests weigh 1, written ones what the recipe says.

    Args:
        data: folder with one folder per data set.
        recipe: how many requests of which sort.
        holdout: share of the groups in the validation split, in (0, 1).
        encode: unit vectors of texts.

    Raises:
        TrainingSetError: data is missing or broken.
    """
    train = query_kind_examples(data, "train", holdout, recipe.seed, recipe.joined, recipe.most_written)
    validation = query_kind_examples(
        data,
        "validation",
        holdout,
        recipe.seed,
        recipe.validation_joined,
        recipe.validation_written,
    )
    counts = Counter(example.source for example in train)
    return KindSplits(
        _vectors(train, recipe, encode),
        _vectors(validation, recipe, encode),
        tuple(example.source for example in validation),
        tuple(TrainingData(TITLES[name], LICENCES[name], counts[name]) for name in sorted(counts)),
    )


def _vectors(examples: Sequence[KindExample], recipe: QueryKindRecipe, encode: Encode) -> LabelledVectors:
    written = recipe.written_weight
    return LabelledVectors(
        encode([example.text for example in examples]),
        np.array([example.multi for example in examples]),
        np.array([1.0 if example.source == "openapi" else written for example in examples], np.float32),
    )
