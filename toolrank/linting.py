"""Checking a catalog as it stands."""

from __future__ import annotations

import numpy as np

from toolrank.catalog import Catalog
from toolrank_engines.contract import Filter
from toolrank_evaluation.health.findings import Health
from toolrank_evaluation.health.lint import lint
from toolrank_ingest.progress import Progress

PROFILE = "hybrid"
"""Both rankings without a model that reorders: what they do not propose, nothing finds."""


def lint_catalog(catalog: Catalog, permitted: Filter, sample: int | None, progress: Progress) -> Health:
    """Checks every API, and asks the own requests of all that are visible, or of an even sample of them.

    Raises:
        EmptyCatalog: nothing was ingested yet.
        EngineError, ModelError: see there.
    """
    index, _ = catalog.live()
    items = list(catalog.engine.documents(index))
    documents = [item.document for item in items]
    visible = catalog.engine.fetch([document.id for document in documents], permitted)
    count = len(visible) if sample is None else min(sample, len(visible))
    asked_of = [visible[index * len(visible) // count] for index in range(count)]

    def search(request: str, k: int) -> list[str]:
        hits = catalog.search(request, k, profile=PROFILE, filter=permitted).hits
        return [hit.document.id for hit in hits]

    with progress.phase("ask", len(asked_of)) as advance:
        return lint(documents, np.stack([item.vector for item in items]), search, asked_of, advance)
