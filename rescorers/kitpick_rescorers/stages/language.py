"""Stages that call a language model, within limits for each request.

`rankgpt` shows the model windows of the list and takes the order of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Stage, Window
from kitpick_rescorers.state import State

if TYPE_CHECKING:  # loaded when the stage runs
    from kitpick_rescorers.llm.meter import CallMeter


class LanguageStage(Stage, frozen=True):
    """Limits of all calls for one request."""

    characters: Annotated[int, msgspec.Meta(ge=20, le=10_000)] = 600
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3_600)] = 60.0
    max_calls: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 40
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000_000)] = 200_000
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3

    def metered(self, state: State, models: Models) -> tuple[CallMeter, str]:
        """The language model behind a meter that enforces the limits, and its name.

        Raises:
            StageUnavailable: none is configured.
        """
        from kitpick_rescorers.llm.meter import CallMeter, Caps

        if models.llm is None:
            raise StageUnavailable("no language model is configured")
        caps = Caps(self.seconds, self.max_calls, self.max_tokens, self.max_cost, self.retries)
        return CallMeter(models.llm, caps, state.deadline), models.llm.identity

    def with_order(
        self,
        state: State,
        order: Sequence[str],
        planted: frozenset[str],
        meter: CallMeter,
        unscored: str,
        says: Mapping[str, str] | None = None,
    ) -> State:
        """The state with the ids of `order` at its head, degraded if answers could not be used.

        `order` has the first ids of the list, `planted` those whose description addresses the ranker, `says`
        what the model said of some; `unscored` tells of an answer that said nothing.
        """
        items = {item.id: item for item in state.ranked}
        before = {item.id: place for place, item in enumerate(state.ranked, start=1)}
        reasons = {}
        for place, key in enumerate(order, start=1):
            parts = [f"from {before[key]} to {place}", *([says[key]] if says and key in says else [])]
            if key in planted:
                parts.append("its description speaks to the ranker")
            reasons[key] = "; ".join(parts)
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(meter.outcomes.items()))
        note = f"answers: {outcomes}; {meter.calls} calls, {meter.tokens:,} tokens"
        ranked = [*(items[key] for key in order), *state.ranked[len(order) :]]
        after = replace(state.with_ranked(ranked, reasons, note), details=meter.figures())
        count = meter.outcomes["unscored"]
        return after.degrading(self.name, f"{count} answers {unscored}") if count else after


@contextmanager
def stage_failures(name: str, meter: CallMeter) -> Iterator[None]:
    """A context for calls of a language model: any failure ends the stage with the incoming order.

    Raises:
        StageUnavailable: in place of every exception.
    """
    from kitpick_rescorers.llm.model import CallFailed

    try:
        yield
    except CallFailed as error:
        raise StageUnavailable(f"{name}: {error} ({meter.calls} calls)") from error
    except Exception as error:
        raise StageUnavailable.failed(name, error) from error


class RankGpt(LanguageStage, frozen=True, tag="rankgpt"):
    """A window of `window` candidates slides from the end of the first `candidates` to their start.

    If an answer holds no order, its window keeps its order. A call without an answer, or a limit that is
    reached, ends the stage with the whole incoming order. If a description addresses the ranker, that part is
    not shown, and the candidate never rises above one that was ahead of it.
    """

    requires = frozenset({"llm"})

    candidates: Window = 100
    window: Annotated[int, msgspec.Meta(ge=2, le=100)] = 20
    step: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10

    def __post_init__(self) -> None:
        """Refuses a `step` that would leave candidates out."""
        if self.step > self.window:
            raise ValueError("`step` above `window` would leave candidates that no window sees")

    def apply(self, state: State, models: Models) -> State:
        """The list in the model's order."""
        from kitpick_rescorers.llm.windows import Windows, permute

        meter, name = self.metered(state, models)
        texts = {item.id: item.candidate.text for item in state.ranked[: self.candidates]}
        with stage_failures(name, meter):
            found = permute(meter, state.query, texts, Windows(self.window, self.step, self.characters))
        return self.with_order(state, found.order, found.planted, meter, "held no order")
