"""Requests for kits: all APIs that a plan for a request calls, out of one service, server or library.

`datasets/kits` holds `apis.jsonl.gz`, documents as engines keep them whose source is their catalog, and
`requests.jsonl.gz`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_training.data.records import LabelledCatalog, LabelledRequest
from kitpick_training.data.whole import titles_of
from kitpick_training.data.written import read_typed

LICENCE = "Apache-2.0 (requests, function libraries); CC0-1.0, MIT and Apache-2.0 (other descriptions)"


class KitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of `requests.jsonl.gz`."""

    request: str
    catalog: str
    wanted: tuple[str, ...]
    """Ids of all APIs that a complete plan calls."""
    steps: tuple[str, ...]
    """Those of `wanted` that only look something up."""


def read_kits(folder: Path) -> LabelledCatalog:
    """All catalogs as one; each is held out as a whole, with those that have a tool of it.

    The other APIs of its catalog are offered with a request: all were there to be chosen. Nobody looked at
    those of other catalogs for it.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    documents = {document.id: document for document in read_typed(folder / "apis.jsonl.gz", ApiDocument)}
    of_catalog: dict[str, list[str]] = defaultdict(list)
    for document in documents.values():
        of_catalog[document.source].append(document.id)
    requests = tuple(
        LabelledRequest(
            each.request,
            each.wanted,
            tuple(id_ for id_ in of_catalog[each.catalog] if id_ not in each.wanted),
        )
        for each in read_typed(folder / "requests.jsonl.gz", KitRequest)
    )
    first = _first_of_related(documents.values())
    groups = {id_: group_of(first[document.source]) for id_, document in documents.items()}
    return LabelledCatalog("kits", LICENCE, documents, groups, titles_of(documents), requests, judged=False)


def group_of(catalog: str) -> str:
    """What `split_of` holds a catalog out by, given the first of those that are related."""
    return f"kits/{catalog}"


def _first_of_related(documents: Iterable[ApiDocument]) -> dict[str, str]:
    """For each catalog the first one that it is related to: both have a tool, or are related to a third."""
    first: dict[str, str] = {}
    with_tool: dict[str, str] = {}
    for document in documents:
        own = first.setdefault(document.source, document.source)
        other = first[with_tool.setdefault(document.tool, document.source)]
        if own != other:
            kept = min(own, other, key=list(first).index)
            first = {catalog: kept if found in (own, other) else found for catalog, found in first.items()}
    return first
