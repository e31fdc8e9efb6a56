"""Judged requests over one catalog as something to learn from, a part of them held out to choose by."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol, TypeVar

from toolrank_engines.document import ApiDocument
from toolrank_engines.text import retrieval_text
from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.training_sets.errors import EmptySplit
from toolrank_models.train.examples import ClosedCatalog, RetrievalSet


class Asked(Protocol):
    """A request in words."""

    @property
    def text(self) -> str:
        """What was asked."""


Request = TypeVar("Request", bound=Asked)


def closed_catalog(
    name: str, documents: Sequence[ApiDocument], queries: Sequence[JudgedQuery], holdout: float
) -> ClosedCatalog:
    """The catalog's retrieval texts, with the requests in two splits.

    Args:
        name: of the catalog.
        documents: all of them, in the order in which texts are numbered.
        queries: requests whose relevant ids are all among `documents`.
        holdout: share of the requests that is held out, in (0, 1).

    Raises:
        EmptySplit: a split has no request.
    """
    train, held_out = split_queries(name, queries, holdout)
    place = {document.id: number for number, document in enumerate(documents)}

    def numbers(query: JudgedQuery) -> tuple[int, ...]:
        return tuple(sorted(place[id_] for id_ in query.relevant))

    return ClosedCatalog(
        tuple(query.text for query in train),
        tuple(numbers(query) for query in train),
        RetrievalSet(
            name,
            tuple(query.text for query in held_out),
            tuple(retrieval_text(document) for document in documents),
            tuple(numbers(query) for query in held_out),
        ),
    )


def split_queries(
    name: str, queries: Sequence[Request], holdout: float
) -> tuple[list[Request], list[Request]]:
    """Requests to learn from and to choose by, divided by a hash of their text: growth moves none.

    Raises:
        EmptySplit: a split has no request.
    """
    held_out = [query for query in queries if _place(query.text) < holdout]
    train = [query for query in queries if _place(query.text) >= holdout]
    if not train:
        raise EmptySplit(name, "train")
    if not held_out:
        raise EmptySplit(name, "validation")
    return train, held_out


def _place(text: str) -> float:
    digest = hashlib.blake2b(" ".join(text.lower().split()).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big") / 2**64
