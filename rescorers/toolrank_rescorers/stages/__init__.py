"""The stages, one a file. A stage is its settings; a profile is a list of them."""

from __future__ import annotations

from toolrank_rescorers.stages.base import Requirement, Stage
from toolrank_rescorers.stages.blend import Blend
from toolrank_rescorers.stages.classify import Classify
from toolrank_rescorers.stages.cross_encode import CrossEncode
from toolrank_rescorers.stages.fuse import Fuse
from toolrank_rescorers.stages.truncate import Truncate

AnyStage = Fuse | Truncate | CrossEncode | Blend | Classify
"""Tagged union by the field `stage`."""

__all__ = ["AnyStage", "Blend", "Classify", "CrossEncode", "Fuse", "Requirement", "Stage", "Truncate"]
