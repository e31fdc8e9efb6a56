"""One split of a catalog: whole providers, fields or commands are held out, by a hash of their name."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from kitpick_evaluation.datasets.records import LabelledCatalog, LabelledRequest
from kitpick_evaluation.datasets.split import Split, split_of
from kitpick_evaluation.errors import EvaluationError


class EmptySplit(EvaluationError):
    """A split without a single usable request."""

    def __init__(self, catalog: str, split: str) -> None:
        super().__init__(f"{catalog}: nothing in the {split} split: use more data or another holdout share")


def take_split(catalog: LabelledCatalog, split: Split, holdout: float) -> LabelledCatalog:
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
