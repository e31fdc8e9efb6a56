"""The way from the data folder to the lists of a run: of a cross-encoder, and of an encoder."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from kitpick_engines.text import retrieval_text
from kitpick_training.data.prepared import Encode, PreparedCatalog, fused_neighbours, prepare
from kitpick_training.data.ranking_lists import ListSampler, Mixture, draw_ask, validation_lists
from kitpick_training.data.readers import READERS
from kitpick_training.data.records import LabelledCatalog
from kitpick_training.data.split import take_split
from kitpick_training.examples import RankingList, RetrievalSet

VALIDATION_LISTS = 720
"""With 240 what an int8 form costs has a standard error of 0.4 points of NDCG@5, enough to notice 0.3."""
VALIDATION_CANDIDATES = 16


ENCODER_MIXTURE = Mixture(
    {"written": 0.5, "openapi": 0.22, "bfcl": 0.09, "metatool": 0.05, "tldr": 0.14},
    without_answer=0.0,
    natural_joined=0.6,
)
HELD_OUT_CATALOG = "sealtools"
"""No request and no tool of it is trained on: an encoder is chosen by a catalog it has never seen."""
QUERIES = 400
TEXTS = 2_500


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
        EvaluationError: data is missing, broken or empty after splitting.
    """
    train: dict[str, PreparedCatalog] = {}
    validation: list[RankingList] = []
    read = {
        name: READERS[name](data) for name in mixture.catalogs
    }  # what is missing shows before hours of work
    for name, share in mixture.catalogs.items():
        catalog = read[name]
        train[name] = prepare(take_split(catalog, "train"), encode, cache)
        held_out = prepare(take_split(catalog, "validation"), encode, cache)
        count = round(VALIDATION_LISTS * share)
        validation += validation_lists(held_out, mixture, count, _first_stage(held_out, encode), seed)
    sampler = ListSampler(train, validation, mixture, seed, list_size)
    return sampler, [prepared.catalog for prepared in train.values()]


def _first_stage(
    catalog: PreparedCatalog, encode: Encode
) -> Callable[[Sequence[str]], Sequence[Sequence[int]]]:
    texts = [retrieval_text(document) for document in catalog.documents]
    return lambda asks: fused_neighbours(asks, texts, encode, VALIDATION_CANDIDATES).tolist()


class EncoderLists:
    """Training lists, and what was held out: a whole data set, and the held-out providers of two others."""

    def __init__(self, sampler: ListSampler, held_out: Sequence[RetrievalSet]) -> None:
        self._sampler, self._held_out = sampler, held_out

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step."""
        return self._sampler.batch(step, size)

    def retrieval(self) -> Sequence[RetrievalSet]:
        """The held-out catalogs."""
        return self._held_out


def encoder_source(
    data: Path, encode: Encode, cache: Path, seed: int, list_size: int
) -> tuple[EncoderLists, list[LabelledCatalog]]:
    """The lists of a run, and the training splits they are drawn from.

    Args:
        data: folder with one folder per data set.
        encode: unit vectors of texts, to mine hard negatives with.
        cache: folder for neighbours, so that a resumed run starts at once.
        seed: of the run.
        list_size: texts per training list.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
    """
    catalogs = training_catalogs(data)
    train = {
        name: prepare(catalog, encode, cache, retrieval_text)
        for name, catalog in zip(ENCODER_MIXTURE.catalogs, catalogs, strict=True)
    }
    held_out = held_out_sets(data, encode, cache, seed)
    sampler = ListSampler(train, (), ENCODER_MIXTURE, seed, list_size)
    return EncoderLists(sampler, held_out), catalogs


def training_catalogs(data: Path) -> list[LabelledCatalog]:
    """The training split of every data set that encoders learn from.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
    """
    return [take_split(READERS[name](data), "train") for name in ENCODER_MIXTURE.catalogs]


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


def held_out_sets(data: Path, encode: Encode, cache: Path | None, seed: int) -> list[RetrievalSet]:
    """What encoders are compared on: a catalog never trained on, and the held-out providers of two others.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
    """
    return [
        retrieval_set(prepare(catalog, encode, cache, retrieval_text), ENCODER_MIXTURE, seed)
        for catalog in (
            READERS[HELD_OUT_CATALOG](data),
            take_split(READERS["openapi"](data), "validation"),
            take_split(READERS["written"](data), "validation"),
        )
    ]


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
