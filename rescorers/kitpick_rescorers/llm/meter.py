"""Calls of a language model within limits of time, calls, tokens and cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec

from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_foundation.forks import fork_lock
from kitpick_rescorers.llm.model import (
    CallFailed,
    CapReached,
    Completion,
    LanguageModel,
    Message,
    tokens_in,
)


class Metered(Protocol):
    """An answer of a model, with its tokens and cost."""

    @property
    def prompt_tokens(self) -> int: ...  # noqa: D102 - as `Completion` has it, like the next two

    @property
    def completion_tokens(self) -> int: ...  # noqa: D102

    @property
    def cost(self) -> float: ...  # noqa: D102


ModelReply = TypeVar("ModelReply", bound=Metered)

_PAUSE = 0.25
"""Seconds before a second attempt where the endpoint names no other time; doubled each time."""


class Caps(msgspec.Struct, frozen=True):
    """Limits of all calls for one request."""

    seconds: float
    calls: int
    tokens: int
    cost: float
    retries: int
    """Further attempts, of all calls together."""


class CallMeter:
    """Calls a model within caps and within the deadline of the request. Safe to use from several threads."""

    def __init__(self, model: LanguageModel, caps: Caps, deadline: Deadline = UNLIMITED) -> None:
        self.model = model
        self._caps = caps
        self._whole = deadline
        self._deadline = time.monotonic() + caps.seconds
        self._lock = fork_lock()
        self._retries = caps.retries
        self._reserved = 0
        self.calls, self.tokens, self.cost = 0, 0, 0.0
        self.outcomes: Counter[str] = Counter()

    def ask(
        self, messages: tuple[Message, ...], max_tokens: int, schema: dict[str, Any] | None
    ) -> Completion:
        """The model's answer, after as many attempts as are left.

        Raises:
            CallFailed: no attempt succeeded, or a cap would be exceeded.
        """
        return self.metered(
            max_tokens + tokens_in(messages),
            lambda seconds: self.model.complete(
                messages, max_tokens=max_tokens, schema=schema, seconds=seconds
            ),
        )

    def tell(self, outcome: str) -> None:
        """Counts the outcome of an answer."""
        with self._lock:
            self.outcomes[outcome] += 1

    def retry(self) -> bool:
        """Uses one of the further attempts; False if none is left."""
        with self._lock:
            self._retries -= 1
            return self._retries >= 0

    def figures(self) -> dict[str, float]:
        """Calls, tokens, cost and outcomes so far, as figures of the trace."""
        return {"calls": float(self.calls), "tokens": float(self.tokens), "cost": self.cost, **self.outcomes}

    def metered(self, estimate: int, call: Callable[[float], ModelReply]) -> ModelReply:
        """The answer of `call`, which receives the seconds it may take, after as many attempts as are left.

        Raises:
            CallFailed: as `ask`.
        """
        pause = _PAUSE
        while True:
            self._reserve(estimate)
            try:
                answer = call(self._remaining())
            except CallFailed as error:
                self._release(estimate, None)
                self._wait(error, pause)
                pause *= 2
            else:
                self._release(estimate, answer)
                return answer

    def _reserve(self, estimate: int) -> None:
        """Reserves a call and its tokens, so that parallel calls cannot exceed a cap together."""
        with self._lock:
            if self.calls >= self._caps.calls:
                raise CapReached(f"the cap of {self._caps.calls} calls is reached")
            if self.tokens + self._reserved + estimate > self._caps.tokens:
                raise CapReached(f"the cap of {self._caps.tokens:,} tokens would be exceeded")
            if self.cost > 0 and self.cost >= self._caps.cost:
                raise CapReached(f"the cap of {self._caps.cost:g} on costs is reached")
            self.calls += 1
            self._reserved += estimate

    def _release(self, estimate: int, answer: Metered | None) -> None:
        with self._lock:
            self._reserved -= estimate
            if answer is not None:
                self.tokens += answer.prompt_tokens + answer.completion_tokens
                self.cost += answer.cost

    def _remaining(self) -> float:
        if self._whole.passed:
            raise CapReached("the deadline of the request passed")
        left = min(self._whole.left, self._deadline - time.monotonic())
        if left <= 0:
            raise CapReached(f"the cap of {self._caps.seconds:g} s is reached")
        return left

    def _wait(self, error: CallFailed, pause: float) -> None:
        if error.retry_after is None or not self.retry():
            raise error
        pause = max(pause, error.retry_after)
        if pause >= self._remaining():
            raise error
        time.sleep(pause)
