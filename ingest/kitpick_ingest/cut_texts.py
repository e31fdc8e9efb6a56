"""Finds documents whose texts are longer than a model reads. Nothing fails by it, so reports name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from kitpick_engines.document import ApiDocument

_EXAMPLES = 3
_CURE = (
    "what stands at the end of these is not read, names of parameters as a rule: "
    "shorten descriptions, examples and names, or say what is done first"
)


@dataclass(frozen=True)
class TextBound:
    """What a model reads of an API."""

    model: str
    """What it is called: `encoder`."""
    tokens: int
    beside: str
    """What else it reads with the text; empty if nothing."""
    text: Callable[[ApiDocument], str]
    longer: Callable[[Sequence[str], int], Sequence[bool]]
    """Which of the texts have more than so many tokens."""


class CutTexts(msgspec.Struct, frozen=True):
    """What a model does not read to its end."""

    model: str
    tokens: int
    """How many tokens of a text it reads."""
    beside: str
    """What else it reads with the text; empty if nothing."""
    documents: int
    """How many documents have a longer text."""
    of: int
    """How many documents were looked at."""
    examples: tuple[str, ...]
    """Ids of the first of them."""

    def told(self) -> str:
        """The line for an operator: how many, which, and the cure."""
        beside = f" beside {self.beside}" if self.beside else ""
        reads = f"the {self.model} reads {self.tokens} tokens of an API's text{beside}"
        longer = f"{self.documents:,} of {self.of:,} are longer ({', '.join(self.examples)}"
        return f"{reads}; {longer}{', …' if self.documents > len(self.examples) else ''}): {_CURE}"


class CutTextCounts:
    """Counts, batch by batch, the documents that models do not read to their end."""

    def __init__(self, bounds: Iterable[TextBound] = ()) -> None:
        """The bounds are asked for when there are documents."""
        self._bounds = bounds
        self._counts: dict[TextBound, CutTexts] | None = None

    def add(self, documents: Sequence[ApiDocument]) -> None:
        """Looks at further documents."""
        if self._counts is None:
            self._counts = {b: CutTexts(b.model, b.tokens, b.beside, 0, 0, ()) for b in self._bounds}
        self._counts = {bound: _counted(bound, count, documents) for bound, count in self._counts.items()}

    def found(self) -> tuple[CutTexts, ...]:
        """What was found so far, of models that do not read every text to its end."""
        return tuple(count for count in (self._counts or {}).values() if count.documents)


def _counted(bound: TextBound, count: CutTexts, documents: Sequence[ApiDocument]) -> CutTexts:
    longer = bound.longer([bound.text(document) for document in documents], bound.tokens)
    cut = [document.id for document, is_longer in zip(documents, longer, strict=True) if is_longer]
    return msgspec.structs.replace(
        count,
        documents=count.documents + len(cut),
        of=count.of + len(documents),
        examples=(*count.examples, *cut)[:_EXAMPLES],
    )
