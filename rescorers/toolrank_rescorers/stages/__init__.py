"""The stages, one a file. A stage is its settings; a profile is a list of them."""

from __future__ import annotations

from toolrank_rescorers.stages.abstain import Abstain
from toolrank_rescorers.stages.base import Requirement, Stage
from toolrank_rescorers.stages.blend import Blend
from toolrank_rescorers.stages.classify import Classify
from toolrank_rescorers.stages.concentrate import Concentrate
from toolrank_rescorers.stages.cross_encode import CrossEncode
from toolrank_rescorers.stages.decode import Decode
from toolrank_rescorers.stages.demorank import DemoRank
from toolrank_rescorers.stages.diversify import Diversify
from toolrank_rescorers.stages.fuse import Fuse
from toolrank_rescorers.stages.mmr import Mmr
from toolrank_rescorers.stages.pack import Pack
from toolrank_rescorers.stages.rankgpt import RankGpt
from toolrank_rescorers.stages.truncate import Truncate

AnyStage = (
    Fuse
    | Truncate
    | CrossEncode
    | Blend
    | Classify
    | Concentrate
    | Diversify
    | Decode
    | Mmr
    | RankGpt
    | DemoRank
    | Abstain
    | Pack
)
"""Tagged union by the field `stage`."""

__all__ = [
    "Abstain",
    "AnyStage",
    "Blend",
    "Classify",
    "Concentrate",
    "CrossEncode",
    "Decode",
    "DemoRank",
    "Diversify",
    "Fuse",
    "Mmr",
    "Pack",
    "RankGpt",
    "Requirement",
    "Stage",
    "Truncate",
]
