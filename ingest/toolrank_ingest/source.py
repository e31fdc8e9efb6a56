"""What a source of API descriptions is, and what becomes of an entry that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from toolrank_engines.document import ApiDocument

MAX_EXCERPT = 500


class DeadLetter(msgspec.Struct, frozen=True):
    """An entry that was left out, with its place in the source and the reason. The run goes on."""

    source: str
    position: str
    """Where to look: `file.json#/paths/~1users/get`, `tools.jsonl:17`."""
    reason: str
    excerpt: str = ""
    """The beginning of the offending text, at most `MAX_EXCERPT` characters."""


class Source(Protocol):
    """Yields documents in a stable order, one by one, so that a catalog never has to fit into memory."""

    name: str
    """Owner of the documents: a sync of one source never touches another's."""

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """Documents, and dead letters for entries that cannot be used.

        Raises:
            SourceError: the source as a whole cannot be read.
        """
