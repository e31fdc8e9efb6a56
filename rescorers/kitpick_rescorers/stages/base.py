"""The base class of all stages: settings, and a pure function from state to state."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from kitpick_rescorers.models import Models
from kitpick_rescorers.state import State

Requirement = Literal[
    "lexical", "dense", "intent", "sentence", "vector", "scorer", "query_kind", "llm", "ranker"
]
"""Inputs that a stage can require. Only what the stages of a profile require is computed or loaded."""

Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Window = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
"""Length of a list whose candidates are compared in pairs."""
Weight = Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class Stage(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="stage",
):
    """Settings of one step of a pipeline.

    With `when`, the stage runs only for queries of that kind. If the kind of the query is unknown, such a
    stage does not run.
    """

    requires: ClassVar[frozenset[Requirement]] = frozenset()
    ranks: ClassVar[bool] = True
    """Whether it works on candidates, and so has nothing to do where there are none."""

    when: Literal["always", "single", "multi"] = "always"

    @property
    def name(self) -> str:
        """The stage's name in profiles and traces."""
        return str(type(self).__struct_config__.tag)

    def needs(self) -> frozenset[Requirement]:
        """The requirements of this stage with these settings."""
        return self.requires

    def apply(self, state: State, models: Models) -> State:
        """The state after this stage.

        Raises:
            StageUnavailable: something it depends on is missing or broken; the pipeline keeps the order.
        """
        raise NotImplementedError

    def reason_to_skip(self, state: State) -> str:
        """Why the stage does not run on this state; empty if it does."""
        kind = None if state.kind is None else state.kind.kind
        if self.when not in ("always", kind):
            this = f"this one is {kind}" if kind else "and the kind of this one is unknown"
            return f"only for {self.when}-tool queries, {this}"
        return "there are no candidates" if self.ranks and not state.ranked else ""


def threshold_of(models: Models, name: str, setting: float | None, fallback: float) -> float:
    """The profile's setting, else what the cross-encoder's manifest says, else the fallback."""
    if setting is not None:
        return setting
    return fallback if models.scorer is None else models.scorer.manifest.thresholds.get(name, fallback)
