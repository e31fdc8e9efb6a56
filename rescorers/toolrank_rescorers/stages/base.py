"""What every stage is: its settings, and a pure function from state to state."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from toolrank_rescorers.models import Models
from toolrank_rescorers.state import State

Requirement = Literal[
    "lexical", "dense", "intent", "sentence", "vector", "scorer", "query_kind", "llm", "demonstrations"
]
"""What a stage asks of a request and its caller, so that only what is used has to be computed or loaded."""

Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Window = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
"""Length of a list that a rule compares pair by pair."""
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

    `when` runs the stage for one kind of query only, and then only if the classifier is at least `confidence`
    sure of it; without a classifier's answer such a stage does not run.
    """

    requires: ClassVar[frozenset[Requirement]] = frozenset()

    when: Literal["always", "single", "multi"] = "always"
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0

    @property
    def name(self) -> str:
        """The stage's name in profiles and traces."""
        return str(type(self).__struct_config__.tag)

    def needs(self) -> frozenset[Requirement]:
        """What this stage, set as it is, asks for."""
        return self.requires

    def apply(self, state: State, models: Models) -> State:
        """The state after this stage.

        Raises:
            StageUnavailable: something it depends on is missing or broken; the order stands.
        """
        raise NotImplementedError

    def closed(self, state: State) -> str:
        """Why the stage does not run on this state; empty when it does."""
        return "" if state.ranked else "there are no candidates"

    def gate(self, state: State) -> str:
        """Why the stage is not meant for this kind of query; empty when it is."""
        if self.when == "always":
            return ""
        if state.kind is None:
            return f"only for {self.when}-tool queries, and the kind of this one is unknown"
        if state.kind.kind != self.when:
            return f"only for {self.when}-tool queries, this one is {state.kind.kind}"
        if state.kind.confidence < self.confidence:
            return f"confidence {state.kind.confidence:.2f} in {self.when} is below {self.confidence:.2f}"
        return ""
