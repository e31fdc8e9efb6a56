"""The whole way from the data folder to the lists of an encoder run and the catalogs it is chosen by."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from toolrank_engines.text import retrieval_text
from toolrank_evaluation.training_sets.neighbours import Encode
from toolrank_evaluation.training_sets.prepared import PreparedCatalog, prepare
from toolrank_evaluation.training_sets.records import LabelledCatalog
from toolrank_evaluation.training_sets.reranker_lists import ListSampler, Mixture, draw_ask
from toolrank_evaluation.training_sets.reranker_source import HOLDOUT, READERS
from toolrank_evaluation.training_sets.split import take_split
from toolrank_models.train.examples import RankingList, RetrievalSet

ENCODER_MIXTURE = Mixture({"openapi": 0.60, "bfcl": 0.15, "metatool": 0.10, "tldr": 0.15}, without_answer=0.0)
HELD_OUT_CATALOG = "sealtools"
"""No request and no tool of it is trained on: an encoder is chosen by a catalog it has never seen."""
QUERIES = 400
TEXTS = 2_500


class EncoderLists:
    """Training lists, and what was held out: a whole data set, and the held-out providers of another."""

    def __init__(self, sampler: ListSampler, held_out: Sequence[RetrievalSet]) -> None:
        self._sampler, self._held_out = sampler, held_out

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step."""
        return self._sampler.batch(step, size)

    def retrieval(self) -> Sequence[RetrievalSet]:
        """The held-out catalogs."""
        return self._held_out


def encoder_source(
    data: Path, encode: Encode, cache: Path, seed: int, list_size: int, mixture: Mixture = ENCODER_MIXTURE
) -> tuple[EncoderLists, list[LabelledCatalog]]:
    """The lists of a run, and the training splits they are drawn from.

    Args:
        data: folder with one folder per data set.
        encode: unit vectors of texts, to mine hard negatives with.
        cache: folder for neighbours, so that a resumed run starts at once.
        seed: of the run.
        list_size: texts per training list.
        mixture: shares; names which data sets are read.

    Raises:
        TrainingSetError: data is missing, broken or empty after splitting.
    """
    train = {
        name: prepare(take_split(READERS[name](data), "train", HOLDOUT), encode, cache, retrieval_text)
        for name in mixture.catalogs
    }
    held_out = [
        retrieval_set(prepare(catalog, encode, cache, retrieval_text), mixture, seed)
        for catalog in (
            READERS[HELD_OUT_CATALOG](data),
            take_split(READERS["openapi"](data), "validation", HOLDOUT),
        )
    ]
    sampler = ListSampler(train, (), mixture, seed, list_size)
    return EncoderLists(sampler, held_out), [prepared.catalog for prepared in train.values()]


def retrieval_set(catalog: PreparedCatalog, mixture: Mixture, seed: int) -> RetrievalSet:
    """Requests of a catalog with their right documents among others, at most `TEXTS` in all."""
    rng = random.Random(f"retrieval/{catalog.catalog.name}/{seed}")
    mixture = msgspec.structs.replace(mixture, tool_named=0.5)
    asks = [draw_ask(catalog, mixture, rng) for _ in range(QUERIES)]
    right = list(dict.fromkeys(i for ask in asks for i in ask.relevant))
    others = [i for i in range(len(catalog.documents)) if i not in set(right)]
    kept = right + rng.sample(others, max(0, min(len(others), TEXTS - len(right))))
    place = {document: number for number, document in enumerate(kept)}
    return RetrievalSet(
        catalog.catalog.name,
        tuple(ask.text for ask in asks),
        tuple(catalog.texts[i] for i in kept),
        tuple(tuple(place[i] for i in ask.relevant) for ask in asks),
    )
