"""MetaTool and Seal-Tools: small tools with requests, also used for training, so no unseen benchmark."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from toolrank_engines.document import ApiDocument, document_id
from toolrank_evaluation.dataset import Dataset, JudgedQuery
from toolrank_evaluation.training_sets.records import LabelledCatalog
from toolrank_ingest.source import DeadLetter


class CatalogSource:
    """The documents of a labelled catalog as a source, in the order of their ids."""

    def __init__(self, catalog: LabelledCatalog) -> None:
        self.name = catalog.name
        self._documents = catalog.documents

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """Every document, its id made of the source's name and the one it has in the catalog."""
        for key in sorted(self._documents):
            yield msgspec.structs.replace(self._documents[key], id=document_id(self.name, key))


def labelled(catalog: LabelledCatalog) -> Dataset:
    """Requests in two subsets: `single` needs one tool, `multi` several."""
    queries = tuple(
        JudgedQuery(
            f"{catalog.name}-{number}",
            request.text,
            frozenset(document_id(catalog.name, relevant) for relevant in request.relevant),
            _subset(catalog, request.relevant),
        )
        for number, request in enumerate(catalog.requests)
    )
    return Dataset(catalog.name, CatalogSource(catalog), queries)


def _subset(catalog: LabelledCatalog, relevant: tuple[str, ...]) -> str:
    return "single" if len({catalog.documents[id_].tool_key for id_ in relevant}) == 1 else "multi"
