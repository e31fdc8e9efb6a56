"""What stages that ask a language model have in common: what a request may cost, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated

import msgspec
from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.llm.meter import Caps, Meter
from toolrank_rescorers.llm.model import CallFailed
from toolrank_rescorers.models import Models
from toolrank_rescorers.stages.base import Stage
from toolrank_rescorers.state import State


class LanguageStage(Stage, frozen=True):
    """Caps of all calls for one request."""

    characters: Annotated[int, msgspec.Meta(ge=20, le=10_000)] = 600
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3_600)] = 60.0
    max_calls: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 40
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000_000)] = 200_000
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3

    def metered(self, models: Models) -> tuple[Meter, str]:
        """The language model within the caps, and its name.

        Raises:
            StageUnavailable: none is configured.
        """
        if models.llm is None:
            raise StageUnavailable("no language model is configured")
        caps = Caps(self.seconds, self.max_calls, self.max_tokens, self.max_cost, self.retries)
        return Meter(models.llm, caps), models.llm.identity

    def told(
        self,
        state: State,
        order: Sequence[str],
        planted: frozenset[str],
        meter: Meter,
        unscored: str,
        says: Mapping[str, str] | None = None,
    ) -> State:
        """The state with the ids of `order` at its head; degraded where answers said nothing.

        Args:
            state: as it came.
            order: the first ids of the list, in their new order.
            planted: those whose description speaks to the ranker.
            meter: what was asked.
            unscored: what an answer was that said nothing.
            says: what the model said of an id.
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
def asking(name: str, meter: Meter) -> Iterator[None]:
    """While a language model is asked: whatever goes wrong ends the stage, and so leaves the incoming order.

    Raises:
        StageUnavailable: in place of every exception.
    """
    try:
        yield
    except CallFailed as error:
        raise StageUnavailable(f"{name}: {error} ({meter.calls} calls)") from error
    except Exception as error:
        raise StageUnavailable.failed(name, error) from error
