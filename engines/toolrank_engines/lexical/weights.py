"""How much the fields of a document count in the lexical ranking."""

from __future__ import annotations

import msgspec


class LexicalWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much an occurrence in a field counts in BM25; named as the keys of `text.lexical_fields`.

    Chosen on Seal-Tools dev, BFCL and MetaTool, none of which is reported on. The optimum is flat: anything
    between 1 and 3 for the names is within a point of Recall@5.
    """

    api: float = 2.0
    tool: float = 2.0
    category: float = 1.0
    description: float = 1.0
    parameters: float = 0.5
    examples: float = 1.0
