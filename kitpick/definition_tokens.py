"""Counts the tokens of definitions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kitpick_engines.document import ApiDocument
from kitpick_ingest.definitions import render_definitions, slim_definition
from kitpick_ingest.json_values import JsonObject
from kitpick_rescorers.packing import PackingSizes, TokenCounter, token_counter


def count_tokens(definition: JsonObject, counter: TokenCounter) -> int:
    """Tokens of a definition as it is sent to a model."""
    return counter.count(json.dumps(definition))


def measure_definitions(documents: Sequence[ApiDocument]) -> PackingSizes:
    """Tokens of each document's definition in OpenAI's format, whole and slimmed."""
    counter = token_counter()
    rendered = render_definitions(documents, "openai")
    pairs = list(zip([document.id for document in documents], rendered, strict=True))
    whole = {key: count_tokens(definition, counter) for key, definition in pairs}
    # A short description can be its own first sentence: then both are the same.
    slim = {
        key: min(whole[key], count_tokens(slim_definition(definition), counter)) for key, definition in pairs
    }
    return PackingSizes(counter.name, whole, slim)


class DefinitionTokens:
    """Sizes of definitions, each measured once."""

    def __init__(self) -> None:
        self.counter = token_counter()
        self._known: dict[str, int] = {}

    def of(self, documents: Sequence[ApiDocument]) -> int:
        """Tokens of the documents' definitions together."""
        for document in documents:
            if document.id not in self._known:
                (definition,) = render_definitions([document], "openai")
                self._known[document.id] = count_tokens(definition, self.counter)
        return sum(self._known[document.id] for document in documents)
