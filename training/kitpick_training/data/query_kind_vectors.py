"""The way from the data folder to what a query-kind head reads: vectors of requests, or features of lists."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Engine, Filter, SearchRequest
from kitpick_engines.opening import open_engine
from kitpick_evaluation.datasets.records import CatalogSource, LabelledCatalog
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.sync import sync
from kitpick_models.encoders import CrossEncoder, Encoder
from kitpick_models.manifest import TrainingData
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Classify, CrossEncode, Fuse
from kitpick_training.data.prepared import Encode, PreparedCatalog
from kitpick_training.data.query_kind_requests import KindExample, query_kind_examples
from kitpick_training.data.ranking_lists import Mixture, draw_ask
from kitpick_training.data.readers import LICENCES, READERS, TITLES
from kitpick_training.data.sources import HOLDOUT
from kitpick_training.data.split import split_of, take_split
from kitpick_training.query_kind import KindSplits, LabelledVectors
from kitpick_training.recipe import QueryKindRecipe

MIXTURE = Mixture(
    {"openapi": 1.0}, two_asks=0.42, three_asks=0.28, same_tool=0.45, same_category=0.35, narrative=0.7
)
"""Most requests ask for several things, half of those of one tool: the number of asks tells nothing."""
PROFILE = Profile("query-kind", (Fuse(lexical=2.0, k=10.0), CrossEncode(candidates=50), Classify()))
"""The default profile up to its classifier."""
_FIRST_STAGE = 200
Row = tuple[NDArray[np.float32], bool, str]
"""Features, whether several tools are needed, and the provider."""


def kind_vectors(data: Path, recipe: QueryKindRecipe, holdout: float, encode: Encode) -> KindSplits:
    """Both splits as vectors. Synthetic requests weigh 1, written ones what the recipe says.

    Args:
        data: folder with one folder per data set.
        recipe: how many requests of which sort.
        holdout: share of the groups in the validation split, in (0, 1).
        encode: unit vectors of texts.

    Raises:
        EvaluationError: data is missing or broken.
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


class _RecordingClassifier:
    """A classifier that keeps what it was asked, so that training sees what the pipeline shows."""

    threshold = 0.5

    def __init__(self, features: tuple[str, ...]) -> None:
        self.features = features
        self.seen: list[NDArray[np.float32]] = []

    def probability_multi(self, vector: NDArray[np.float32]) -> float:
        self.seen.append(vector)
        return 0.5


def kind_features_splits(
    data: Path, recipe: QueryKindRecipe, encoder: Encoder, scorer: CrossEncoder, folder: Path
) -> KindSplits:
    """Features of synthetic requests over the providers that the cross-encoder was not trained on.

    Args:
        data: folder with `openapi/`.
        recipe: names of the features and number of requests.
        encoder: embeds documents and requests.
        scorer: reranks.
        folder: where the catalog is built; a run that finds it there starts at once.

    Raises:
        EvaluationError: data is missing or broken.
        EngineError, IngestError: the catalog cannot be built.
    """
    held_out = take_split(READERS["openapi"](data), "validation", HOLDOUT)
    engine = open_engine(f"sqlite:{folder / 'held-out.db'}")
    try:
        sync(CatalogSource(held_out), engine, encoder, EmbeddingCache(folder / "embeddings.db"))
        rows = list(_rows(held_out, recipe, engine, encoder, scorer))
    finally:
        engine.close()
    train = [row for row in rows if not held_out_again(row[2])]
    validation = [row for row in rows if held_out_again(row[2])]
    origin = TrainingData(TITLES["openapi"], LICENCES["openapi"], len(train))
    return KindSplits(_labelled(train), _labelled(validation), ("openapi",) * len(validation), (origin,))


def held_out_again(provider: str) -> bool:
    """One in five of the providers: a hash of its own, as all of them lie in one band of the first one."""
    return split_of(f"query kind: {provider}", 0.1) != "train"


def _rows(
    catalog: LabelledCatalog, recipe: QueryKindRecipe, engine: Engine, encoder: Encoder, scorer: CrossEncoder
) -> Iterator[Row]:
    prepared = PreparedCatalog(catalog, np.empty((len(catalog.requests), 0), np.int32))
    rng = random.Random(f"kind-features/{recipe.seed}")
    recorder = _RecordingClassifier(recipe.features)
    models = Models(scorer=scorer, query_kind=recorder)
    for _ in range(recipe.requests):
        ask = draw_ask(prepared, MIXTURE, rng)
        vector = encoder.encode([ask.text])[0]
        candidates = engine.search(SearchRequest(ask.text, vector, _FIRST_STAGE, Filter()))
        rescore(RescoreRequest(ask.text, candidates, vector, 5), PROFILE, models)
        documents = [prepared.documents[number] for number in ask.relevant]
        several = len({document.tool_key for document in documents}) > 1
        for features in recorder.seen:  # none where nothing was found
            yield features, several, catalog.groups[documents[0].id]
        recorder.seen.clear()


def _labelled(rows: Sequence[Row]) -> LabelledVectors:
    return LabelledVectors(
        np.array([features for features, _, _ in rows], np.float32),
        np.array([multi for _, multi, _ in rows]),
        np.ones(len(rows), np.float32),
    )
