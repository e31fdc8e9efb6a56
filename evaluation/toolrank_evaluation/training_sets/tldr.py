"""tldr pages: an example of use asks, the command answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from toolrank_engines.document import ApiDocument, document_id
from toolrank_evaluation.training_sets.clauses import clause
from toolrank_evaluation.training_sets.records import LabelledCatalog, LabelledRequest, read_records

LICENCE = "CC-BY-4.0"
MOST_PAGES = 2
"""An example that more pages share ("Display help") does not tell which command is meant."""


def read_tldr(path: Path) -> LabelledCatalog:
    """Commands and examples; a command and its subcommands (`git-commit`) are held out together.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    pages = list(read_records(path))
    shared = Counter(example for page in pages for example in page["examples"])
    documents: dict[str, ApiDocument] = {}
    requests: list[LabelledRequest] = []
    for page in pages:
        identity = document_id("tldr", page["platform"], page["command"])
        documents[identity] = _document(identity, page["platform"], page["command"], page["description"])
        asks = [clause(example) for example in page["examples"] if shared[example] <= MOST_PAGES]
        requests += [LabelledRequest(ask, (identity,), form="clause") for ask in asks if ask]
    groups = {i: d.api.split("-")[0].split(" ")[0] for i, d in documents.items()}
    titles = {i: f"{d.api} {d.description}" for i, d in documents.items()}
    return LabelledCatalog("tldr", LICENCE, documents, groups, titles, tuple(requests))


def _document(identity: str, platform: str, command: str, description: str) -> ApiDocument:
    return ApiDocument(
        id=identity,
        source="tldr",
        category=platform,
        tool=command.split("-", maxsplit=1)[0],
        api=command,
        description=description,
    )
