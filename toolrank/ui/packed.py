"""The definitions of an answer, and how they fill the budget."""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolrank.result import SearchResult
from toolrank.ui.protocol import PackedDefinition, Packing
from toolrank_rescorers.packing import token_counter

_MAX_SHOWN = 20_000
"""Characters of one definition: some are as long as a book."""


def packing(result: SearchResult, budget: int, place: Mapping[str, int]) -> Packing:
    """Tokens of every definition as it would be handed to a model, in order."""
    counter = token_counter()
    definitions = tuple(
        PackedDefinition(
            candidate=place[hit.document.id],
            tokens=counter.count(json.dumps(definition)),
            slimmed=hit.document.id in result.slimmed,
            definition=json.dumps(definition, indent=2, ensure_ascii=False)[:_MAX_SHOWN],
        )
        for hit, definition in zip(result.hits, result.definitions("openai"), strict=True)
    )
    return Packing(budget, sum(item.tokens for item in definitions), counter.name, definitions)
