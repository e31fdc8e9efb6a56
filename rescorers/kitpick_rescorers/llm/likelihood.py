"""Likelihood of an answer: the summed probability of its first token, over all spellings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
"""How vocabularies write a space and a line break within a token."""


def spellings(answer: str) -> tuple[str, ...]:
    """The forms in which a model may begin to write a word: three cases, with and without a leading space."""
    cases = dict.fromkeys((answer, answer.lower(), answer.upper(), answer.capitalize()))
    return tuple(lead + case for lead in ("", " ") for case in cases)


def summed(alternatives: Iterable[tuple[str, float]], answers: Sequence[str]) -> tuple[float, ...]:
    """Probabilities of the answers, (answers,) in [0, 1]: those of all tokens that spell one of them.

    Args:
        alternatives: Tokens that a reply may begin with, and their natural log-probabilities.
        answers: words of which no two differ in case and space alone.
    """
    masses = dict.fromkeys((folded(answer) for answer in answers), 0.0)
    for token, logprob in alternatives:
        if (word := folded(token)) in masses and not math.isnan(logprob):
            masses[word] += math.exp(min(logprob, 0.0))
    return tuple(min(1.0, masses[folded(answer)]) for answer in answers)


def folded(token: str) -> str:
    """The word that a token spells, without case and surrounding space."""
    return token.translate(_SPACES).strip().casefold()
