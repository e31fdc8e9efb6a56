"""Settings of a SQLite catalog."""

from __future__ import annotations

import msgspec

from kitpick_engines.lexical import LexicalWeights


class SqliteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one engine object; none of them is stored in the catalog."""

    weights: LexicalWeights = LexicalWeights()
    busy_seconds: float = 30.0
    """How long a writer waits for another one before `EngineUnavailable`."""
    compact_above: float = 0.3
    """A write session rewrites the matrix when more than this fraction of its rows is dead."""
    compact_from: int = 1024
    """A matrix with fewer rows is not worth rewriting."""
