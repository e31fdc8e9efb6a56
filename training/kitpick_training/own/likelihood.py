"""How likely a language model answers with one of some words, by the probabilities of its first token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from kitpick_foundation.decoding import convert_to
from kitpick_rescorers.llm.endpoint import ChatEndpoint
from kitpick_rescorers.llm.meter import CallMeter
from kitpick_rescorers.llm.model import CallFailed, Message, tokens_in

_ALTERNATIVES = 20
"""First tokens of an answer that are asked for: as many as the hosted services give."""


class Likelihoods(msgspec.Struct, frozen=True):
    """The likelihood of each of some answers, with tokens and cost."""

    masses: tuple[float, ...]
    """Probabilities in [0, 1], one an answer, that the reply begins with it in any spelling."""
    prompt_tokens: int
    completion_tokens: int
    cost: float = 0.0


class NoLikelihoods(CallFailed):
    """A model that does not return the likelihood of its answers."""


@runtime_checkable
class LikelihoodModel(Protocol):
    """A model that says how likely its answers are."""

    def likelihoods(
        self, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
    ) -> Likelihoods:
        """How likely the reply begins with each of some words.

        The words begin differently; they count in any case, with or without a leading space.

        Raises:
            NoLikelihoods: the model does not say.
            CallFailed: there is no answer.
        """


def judge(meter: CallMeter, messages: tuple[Message, ...], answers: Sequence[str]) -> Likelihoods:
    """The likelihood of each answer of the meter's model, after as many attempts as are left.

    Raises:
        CallFailed: no attempt succeeded, the model does not say, or a cap would be exceeded.
    """
    model = meter.model

    def asked(seconds: float) -> Likelihoods:
        if isinstance(model, LikelihoodModel):
            return model.likelihoods(messages, answers, seconds=seconds)
        if isinstance(model, ChatEndpoint):
            return likelihoods(model, messages, answers, seconds=seconds)
        raise NoLikelihoods(f"{model.identity} does not say how likely its answers are")

    return meter.metered(1 + tokens_in(messages), asked)


def likelihoods(
    endpoint: ChatEndpoint, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
) -> Likelihoods:
    """Sums the likeliest first tokens that spell an answer; raises like `LikelihoodModel`.

    An answer that a model's tokens cut in two counts nothing.
    """
    said = [msgspec.structs.asdict(message) for message in messages]
    wanted = {"logprobs": True, "top_logprobs": _ALTERNATIVES}
    try:
        turn = endpoint.chat(said, (), max_tokens=1, seconds=seconds, wanted=wanted)
    except CallFailed as error:
        raise CallFailed(f"asked for log-probabilities: {error}", retry_after=error.retry_after) from error
    found = ((item.token, item.logprob) for item in _first_tokens(turn.logprobs))
    return Likelihoods(summed(found, answers), turn.prompt_tokens, turn.completion_tokens, turn.cost)


class _Alternative(msgspec.Struct):
    token: str
    logprob: float


class _FirstToken(_Alternative):
    top_logprobs: list[_Alternative] = []


class _Logprobs(msgspec.Struct):
    content: list[_FirstToken]


def _first_tokens(logprobs: object) -> Sequence[_Alternative]:
    """The alternatives for the first token of an answer."""
    try:
        first = convert_to(logprobs, _Logprobs).content[0]
    except (msgspec.ValidationError, IndexError) as error:
        raise NoLikelihoods("the endpoint answers without log-probabilities") from error
    return first.top_logprobs or [first]


_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
"""How vocabularies write a space and a line break within a token."""


def summed(alternatives: Iterable[tuple[str, float]], answers: Sequence[str]) -> tuple[float, ...]:
    """Probabilities of the answers, (answers,) in [0, 1]: those of all tokens that spell one of them.

    `alternatives` are tokens that a reply may begin with and their natural log-probabilities. No two answers
    differ in case and space alone.
    """
    masses = dict.fromkeys(map(_word_of, answers), 0.0)
    for token, logprob in alternatives:
        if (word := _word_of(token)) in masses and not math.isnan(logprob):
            masses[word] += math.exp(min(logprob, 0.0))
    return tuple(min(1.0, masses[_word_of(answer)]) for answer in answers)


def _word_of(token: str) -> str:
    """The word that a token spells, without case and surrounding space."""
    return token.translate(_SPACES).strip().casefold()
