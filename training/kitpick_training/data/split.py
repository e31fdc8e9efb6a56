"""Splits of a catalog: whole providers, fields or commands are held out, by a hash of their name.

The battery of `benchmarks/` uses the same function, so none of its requests was trained on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from typing import Literal

import msgspec

from kitpick_evaluation.errors import EvaluationError
from kitpick_training.data.records import LabelledCatalog, LabelledRequest

Split = Literal["train", "validation", "test"]

HOLDOUT = 0.1
"""Share of the groups in the test split, and again in the validation split."""


class EmptySplit(EvaluationError):
    """A split without a single usable request."""

    def __init__(self, catalog: str, split: str) -> None:
        super().__init__(f"{catalog}: nothing in the {split} split: use more data or another holdout share")


def split_of(group: str, holdout: float = HOLDOUT) -> Split:
    """The split of a group: stable across runs, machines and growth of the data.

    Args:
        group: name of what is held out as a whole; case does not matter.
        holdout: share of groups in the test split, and in the validation split, in (0, 0.5).
    """
    digest = hashlib.blake2b(group.lower().encode("utf-8", "surrogatepass"), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < holdout:
        return "test"
    return "validation" if place < 2 * holdout else "train"


def split_of_request(groups: Iterable[str]) -> Split:
    """The split of a request that needs these groups: the most restricted of their splits.

    Training takes a request only where all of its groups are of the split `train`.
    """
    splits = {split_of(group) for group in groups}
    if "test" in splits:
        return "test"
    return "validation" if "validation" in splits else "train"


def take_split(catalog: LabelledCatalog, split: Split, holdout: float = HOLDOUT) -> LabelledCatalog:
    """The documents of one split, and the requests all of whose answers are among them.

    Of what was offered with a request, or would also answer it, only documents of the same split are kept:
    no text is in two splits.

    Raises:
        EmptySplit: no request is left.
    """
    documents = {i: d for i, d in catalog.documents.items() if split_of(catalog.groups[i], holdout) == split}
    requests = tuple(
        _restricted(request, documents.keys())
        for request in catalog.requests
        if all(document_id in documents for document_id in request.relevant)
    )
    if not requests:
        raise EmptySplit(catalog.name, split)
    return msgspec.structs.replace(catalog, documents=documents, requests=requests)


def _restricted(request: LabelledRequest, known: Container[str]) -> LabelledRequest:
    offered = tuple(i for i in request.offered if i in known)
    also = tuple(i for i in request.also if i in known)
    return msgspec.structs.replace(request, offered=offered, also=also)
