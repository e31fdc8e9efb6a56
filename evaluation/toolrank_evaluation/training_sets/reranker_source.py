"""The whole way from the data folder to the lists of a cross-encoder run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from toolrank_engines.text import retrieval_text
from toolrank_evaluation.training_sets.bfcl import read_bfcl
from toolrank_evaluation.training_sets.metatool import read_metatool
from toolrank_evaluation.training_sets.neighbours import Encode, fused_neighbours
from toolrank_evaluation.training_sets.openapi import read_openapi
from toolrank_evaluation.training_sets.prepared import PreparedCatalog, prepare
from toolrank_evaluation.training_sets.records import LabelledCatalog
from toolrank_evaluation.training_sets.reranker_lists import ListSampler, Mixture, validation_lists
from toolrank_evaluation.training_sets.sealtools import read_sealtools
from toolrank_evaluation.training_sets.split import take_split
from toolrank_evaluation.training_sets.tldr import read_tldr
from toolrank_models.train.examples import RankingList

HOLDOUT = 0.1
VALIDATION_LISTS = 720
"""With 240 what an int8 form costs has a standard error of 0.4 points of NDCG@5: 0.3 are to be told."""
VALIDATION_CANDIDATES = 16

READERS: dict[str, Callable[[Path], LabelledCatalog]] = {
    "openapi": lambda data: read_openapi(data / "openapi" / "apis.jsonl.gz"),
    "bfcl": lambda data: read_bfcl(data / "bfcl"),
    "sealtools": lambda data: read_sealtools(data / "sealtools"),
    "metatool": lambda data: read_metatool(data / "metatool"),
    "tldr": lambda data: read_tldr(data / "tldr" / "pages.jsonl.gz"),
}


def reranker_source(
    data: Path, mixture: Mixture, encode: Encode, cache: Path, seed: int, list_size: int
) -> tuple[ListSampler, list[LabelledCatalog]]:
    """The sampler of a run, and the training splits it draws from.

    Args:
        data: folder with one folder per data set.
        mixture: shares; names which data sets are read.
        encode: unit vectors of texts.
        cache: folder for neighbours, so that a resumed run starts at once.
        seed: of the run.
        list_size: texts per training list.

    Raises:
        TrainingSetError: data is missing, broken or empty after splitting.
    """
    train: dict[str, PreparedCatalog] = {}
    validation: list[RankingList] = []
    for name, share in mixture.catalogs.items():
        catalog = READERS[name](data)
        train[name] = prepare(take_split(catalog, "train", HOLDOUT), encode, cache)
        held_out = prepare(take_split(catalog, "validation", HOLDOUT), encode, cache)
        count = round(VALIDATION_LISTS * share)
        validation += validation_lists(held_out, mixture, count, _first_stage(held_out, encode), seed)
    sampler = ListSampler(train, validation, mixture, seed, list_size)
    return sampler, [prepared.catalog for prepared in train.values()]


def _first_stage(
    catalog: PreparedCatalog, encode: Encode
) -> Callable[[Sequence[str]], Sequence[Sequence[int]]]:
    texts = [retrieval_text(document) for document in catalog.documents]
    return lambda asks: fused_neighbours(asks, texts, encode, VALIDATION_CANDIDATES).tolist()
