"""One of two joined encoders in training: it learns what the other one leaves wrong, which stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kitpick_models.manifest import Manifest
from kitpick_models.runtime import load_encoder
from kitpick_training.encoder import TrainableEncoder
from kitpick_training.export.apart import TakenApart
from kitpick_training.export.pair import join_turned

_LEARNED = "learned"
"""Folder of what the first encoder became, beside those of both."""


class JoinedEncoder(TrainableEncoder):
    """Both encoders of a pair, of which the first one learns by the vector that they have together.

    Remembers the other one's part, (numbers of the pair,), for each text it has met: the texts of one catalog
    come again in every round. So a step costs what it costs to train the first one alone.

    Args:
        first: what is trained, with the weights of the pair's first encoder.
        pair: both encoders, with the length of texts that `first` reads.
    """

    def __init__(self, first: TrainableEncoder, pair: TakenApart) -> None:
        super().__init__(first.model, first.tokenizer, first.max_tokens, first.chunk_texts, half=first.half)
        self._first, self._pair = first, pair
        self._turn = torch.from_numpy(pair.matrices[0])
        self._other = load_encoder(pair.folders[1])
        self._beside: dict[str, NDArray[np.float32]] = {}

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors of the pair, float32 (n, d), with gradients for the first where they are enabled."""
        self._remember([text for text in dict.fromkeys(texts) if text not in self._beside])
        beside = torch.from_numpy(np.stack([self._beside[text] for text in texts]))
        return torch.nn.functional.normalize(self._first.vectors(texts) @ self._turn + beside, dim=1)

    def _remember(self, texts: Sequence[str]) -> None:
        found = self._other.encode(texts) @ self._pair.matrices[1]
        self._beside.update(zip(texts, found, strict=True))

    def export(
        self, out: Path, manifest: Manifest, calibration: Sequence[str], reference: Sequence[str]
    ) -> Manifest:
        """See `TrainableEncoder.export`; joined with the other one by the matrices that they had."""
        learned = self._pair.folders[0].with_name(_LEARNED)
        self._first.export(learned, manifest, calibration, reference)
        folders = (learned, *self._pair.folders[1:])
        return join_turned(folders, self._pair.matrices, reference, out, manifest)
