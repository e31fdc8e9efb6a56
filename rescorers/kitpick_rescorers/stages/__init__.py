"""The stages of a pipeline, by idea. A stage is a struct of settings; a profile lists stages."""

from __future__ import annotations

from kitpick_rescorers.stages.base import Requirement, Stage
from kitpick_rescorers.stages.classify import Classify
from kitpick_rescorers.stages.complete import Complete
from kitpick_rescorers.stages.cross_encode import CrossEncode
from kitpick_rescorers.stages.decode import Decode
from kitpick_rescorers.stages.depth import Abstain, Enough, Truncate
from kitpick_rescorers.stages.fusion import Blend, Combine, Fuse
from kitpick_rescorers.stages.hierarchy import Concentrate, Diversify
from kitpick_rescorers.stages.language import RankGpt
from kitpick_rescorers.stages.learned import Learned

AnyStage = (
    Fuse
    | Combine
    | Truncate
    | CrossEncode
    | Blend
    | Classify
    | Concentrate
    | Diversify
    | Decode
    | Learned
    | Complete
    | RankGpt
    | Abstain
    | Enough
)
"""Every stage, as a union tagged by the field `stage`."""

__all__ = [
    "Abstain",
    "AnyStage",
    "Blend",
    "Classify",
    "Combine",
    "Complete",
    "Concentrate",
    "CrossEncode",
    "Decode",
    "Diversify",
    "Enough",
    "Fuse",
    "Learned",
    "RankGpt",
    "Requirement",
    "Stage",
    "Truncate",
]
