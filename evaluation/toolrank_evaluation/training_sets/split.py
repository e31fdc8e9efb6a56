"""Which part of a catalog is held out: whole providers, fields or commands, by a hash of their name."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from toolrank_evaluation.training_sets.errors import EmptySplit
from toolrank_evaluation.training_sets.records import LabelledCatalog, LabelledRequest

Split = Literal["train", "validation"]


def split_of(group: str, holdout: float) -> Split:
    """The split of a group: stable across runs, machines and growth of the data.

    Args:
        group: name of what is held out as a whole; case does not matter.
        holdout: share of groups in the validation split, in (0, 1).
    """
    digest = hashlib.blake2b(group.lower().encode(), digest_size=8).digest()
    return "validation" if int.from_bytes(digest, "big") / 2**64 < holdout else "train"


def take_split(catalog: LabelledCatalog, split: Split, holdout: float) -> LabelledCatalog:
    """The documents of one split, and the requests all of whose answers are among them.

    Offered documents of the other split are dropped from a request: no text is in both splits.

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


def _restricted(request: LabelledRequest, known: object) -> LabelledRequest:
    offered = tuple(i for i in request.offered if i in known)  # type: ignore[operator]
    return msgspec.structs.replace(request, offered=offered)
