"""What a profile says."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec.structs import replace

from toolrank_rescorers.stages import AnyStage, CrossEncode, Requirement
from toolrank_rescorers.stages.base import Count


class FirstStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many candidates the caller should propose for k hits."""

    size: Count = 200
    """Of each ranking, at least: four times the fifty that are reranked (over-fetching makes fusion work)."""
    factor: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    """At least this many times k."""

    def size_for(self, k: int) -> int:
        """Candidates of each ranking for k hits, at most 10,000 in all."""
        return min(max(self.size, self.factor * k), 5_000)


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A named pipeline: what to ask the engine for, and the stages in their order."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    stages: Annotated[tuple[AnyStage, ...], msgspec.Meta(max_length=50)]
    description: str = ""
    first_stage: FirstStage = FirstStage()

    def needs(self) -> frozenset[Requirement]:
        """What its stages ask for: rankings to run and models to load."""
        return frozenset[Requirement]().union(*(stage.needs() for stage in self.stages))

    @property
    def needs_vector(self) -> bool:
        """Whether the query has to be embedded."""
        return not self.needs().isdisjoint({"dense", "intent", "sentence", "vector"})

    def then(self, *stages: AnyStage) -> Profile:
        """The same profile with more stages at the end."""
        return replace(self, stages=(*self.stages, *stages))

    def scoring_all(self) -> Profile:
        """The same profile, whose cross-encoder scores every candidate: for lists that are short already."""
        stages = tuple(
            replace(stage, candidates=10_000) if isinstance(stage, CrossEncode) else stage
            for stage in self.stages
        )
        return replace(self, stages=stages)
