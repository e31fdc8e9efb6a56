"""The protocol of a language model."""

from __future__ import annotations

import math
from collections.abc import Iterable
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
