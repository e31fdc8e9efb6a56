"""The whole way from the data folder to labelled features of reranked lists."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Engine, Filter, SearchRequest
from toolrank_engines.opening import open_engine
from toolrank_evaluation.datasets.labelled import CatalogSource
from toolrank_evaluation.training_sets.openapi import LICENCE
from toolrank_evaluation.training_sets.prepared import PreparedCatalog
from toolrank_evaluation.training_sets.provenance import TITLES
from toolrank_evaluation.training_sets.records import LabelledCatalog
from toolrank_evaluation.training_sets.reranker_lists import Mixture, draw_ask
from toolrank_evaluation.training_sets.reranker_source import HOLDOUT, READERS
from toolrank_evaluation.training_sets.split import split_of, take_split
from toolrank_ingest.embedding_cache import EmbeddingCache
from toolrank_ingest.sync import sync
from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.encoder import Encoder
from toolrank_models.manifest import TrainingData
from toolrank_models.train.publish_kind import KindSplits
from toolrank_models.train.query_kind import LabelledVectors
from toolrank_models.train.recipe import QueryKindRecipe
from toolrank_rescorers.models import Models
from toolrank_rescorers.pipeline import rescore
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import RescoreRequest
from toolrank_rescorers.stages import Classify, CrossEncode, Fuse

MIXTURE = Mixture(
    {"openapi": 1.0}, two_asks=0.42, three_asks=0.28, same_tool=0.45, same_category=0.35, narrative=0.7
)
"""Most requests ask for several things, half of those of one tool: the number of asks tells nothing."""
PROFILE = Profile("query-kind", (Fuse(lexical=2.0, k=10.0), CrossEncode(candidates=50), Classify()))
"""The default profile up to its classifier."""
_FIRST_STAGE = 200
Row = tuple[NDArray[np.float32], bool, str]
"""Features, whether several tools are needed, and the provider."""


class _Recorder:
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
        TrainingSetError: data is missing or broken.
        EngineError, IngestError: the catalog cannot be built.
    """
    held_out = take_split(READERS["openapi"](data), "validation", HOLDOUT)
    engine = open_engine(f"sqlite:{folder / 'held-out.db'}")
    try:
        sync(CatalogSource(held_out), engine, encoder, EmbeddingCache(folder / "embeddings.db"))
        rows = list(_rows(held_out, recipe, engine, encoder, scorer))
    finally:
        engine.close()
    train = [row for row in rows if split_of(row[2], HOLDOUT / 5) == "train"]
    validation = [row for row in rows if split_of(row[2], HOLDOUT / 5) == "validation"]
    origin = TrainingData(TITLES["openapi"], LICENCE, len(train))
    return KindSplits(_labelled(train), _labelled(validation), ("openapi",) * len(validation), (origin,))


def _rows(
    catalog: LabelledCatalog, recipe: QueryKindRecipe, engine: Engine, encoder: Encoder, scorer: CrossEncoder
) -> Iterator[Row]:
    prepared = PreparedCatalog(catalog, np.empty((len(catalog.requests), 0), np.int32))
    rng = random.Random(f"kind-features/{recipe.seed}")
    recorder = _Recorder(recipe.features)
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
