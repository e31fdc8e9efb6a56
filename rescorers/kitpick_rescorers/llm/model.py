"""The protocol of a language model, and the likelihood of its answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from kitpick_rescorers.errors import RescorerError


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation."""

    role: str
    content: str


def tokens_in(messages: Iterable[Message]) -> int:
    """Tokens of a conversation, at four characters each."""
    return math.ceil(sum(len(message.content) for message in messages) / 4)


class Completion(msgspec.Struct, frozen=True):
    """An answer, with its tokens and cost."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    cost: float = 0.0
    """Cost of the answer, in the currency of the prices that the operator gave."""


class Likelihoods(msgspec.Struct, frozen=True):
    """The likelihood of each of some answers, with tokens and cost."""

    masses: tuple[float, ...]
    """Probabilities in [0, 1], one an answer, that the reply begins with it in any spelling."""
    prompt_tokens: int
    completion_tokens: int
    cost: float = 0.0


class LlmUnavailable(RescorerError):
    """The configured language model cannot be used."""


class CallFailed(RescorerError):
    """A call without an answer."""

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds after which it may be tried again; None where another try would end the same."""


class CapReached(CallFailed):
    """A call that was not made, because it would exceed a cap."""


class NoLikelihoods(CallFailed):
    """A model that does not return the likelihood of its answers."""


class LanguageModel(Protocol):
    """A language model, at an endpoint. Safe to use from several threads."""

    @property
    def identity(self) -> str:
        """Host and name, without secrets."""

    def complete(
        self, messages: tuple[Message, ...], *, max_tokens: int, schema: dict[str, Any] | None, seconds: float
    ) -> Completion:
        """The answer to a conversation, decoded greedily.

        It should follow the JSON Schema; what cannot enforce one ignores it.

        Raises:
            CallFailed: there is no answer.
        """

    def likelihoods(
        self, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
    ) -> Likelihoods:
        """How likely the reply begins with each of some words.

        The words begin differently; they count in any case, with or without a leading space.

        Raises:
            NoLikelihoods: the model does not say.
            CallFailed: there is no answer.
        """


_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
"""How vocabularies write a space and a line break within a token."""


def summed(alternatives: Iterable[tuple[str, float]], answers: Sequence[str]) -> tuple[float, ...]:
    """Probabilities of the answers, (answers,) in [0, 1]: those of all tokens that spell one of them.

    `alternatives` are tokens that a reply may begin with and their natural log-probabilities. No two answers
    differ in case and space alone.
    """
    masses = dict.fromkeys((folded(answer) for answer in answers), 0.0)
    for token, logprob in alternatives:
        if (word := folded(token)) in masses and not math.isnan(logprob):
            masses[word] += math.exp(min(logprob, 0.0))
    return tuple(min(1.0, masses[folded(answer)]) for answer in answers)


def folded(token: str) -> str:
    """The word that a token spells, without case and surrounding space."""
    return token.translate(_SPACES).strip().casefold()
