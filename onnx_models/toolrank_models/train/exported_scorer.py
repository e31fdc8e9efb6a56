"""An exported cross-encoder on lists, as it will be run: what a training is compared with or taught by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_models.runtime import load_cross_encoder
from toolrank_models.settings import RuntimeSettings
from toolrank_models.train.examples import RankingList

_DEFAULT = RuntimeSettings()


class ExportedScorer:
    """Scores lists with a model folder.

    Args:
        folder: of a cross-encoder.
        settings: how it is run.

    Raises:
        ModelError: as `load_cross_encoder`.
    """

    def __init__(self, folder: Path, settings: RuntimeSettings = _DEFAULT) -> None:
        self._model = load_cross_encoder(folder, settings)

    def score_lists(self, lists: Sequence[RankingList]) -> list[NDArray[np.float32]]:
        """The logit of every text of every list."""
        return [self._model.score(item.query, item.texts) for item in lists]
