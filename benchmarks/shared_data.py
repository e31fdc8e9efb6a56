"""Where data lies that benchmarks read, documents as a source, and halves of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kitpick_engines.document import ApiDocument

ROOT = Path(__file__).resolve().parents[1]
DATASETS = ROOT / "datasets"
DATA = ROOT.parent / "shared" / "data"
"""Research data, which is not in the repository."""


@dataclass(frozen=True)
class Listed:
    """Documents under the name of a source. Not a tuple: `Catalog.ingest` takes one for a list of tools."""

    name: str
    documents: Iterable[ApiDocument]

    def read(self) -> Iterator[ApiDocument]:
        """All of them."""
        yield from self.documents


def half_of(request: str) -> str:
    """`a`, on which rules were chosen, or `b`, which is only measured, by a digest of a request's id."""
    return "ab"[hashlib.sha256(request.encode()).digest()[0] % 2]
