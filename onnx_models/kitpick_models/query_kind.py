"""Does a request need one tool or several? A small head on its vector, or on what was found."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_models.cross_encoder import sigmoid
from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import HEAD, Manifest, read_file


class QueryKindClassifier:
    """A stack of dense layers with ReLU between them, one logit at the end. One layer is logistic regression.

    `head.npz` holds float32 arrays `weight_0` (d, h), `bias_0` (h,), `weight_1` (h, …) and so on; the last
    layer has one column.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.identity = manifest.identity
        self.encoder = manifest.encoder
        """Identity of the encoder whose vectors it reads; those of another mean nothing to it."""
        self.features = manifest.features
        """Names of what it reads of a reranked list; empty where it reads the query's vector."""
        self.threshold = manifest.thresholds.get("multi", 0.5)
        self._layers = _read_layers(folder / HEAD, read_file(folder, manifest, HEAD))

    def probability_multi(self, vector: NDArray[np.float32]) -> float:
        """Probability in (0, 1) that the request of this vector, float32 (d,), needs more than one tool.

        For a head with `features` the vector holds their values.
        """
        x = np.asarray(vector, np.float32)
        for position, (weight, bias) in enumerate(self._layers):
            x = (np.maximum(x, 0) if position else x) @ weight + bias
        return float(sigmoid(x)[0])


def _read_layers(path: Path, data: bytes) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            count = sum(name.startswith("weight_") for name in arrays.files)
            layers = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(count)]
    except (ValueError, KeyError, OSError) as error:
        raise CorruptModel(path, f"not a head: {error}") from error
    if not layers or layers[-1][0].shape[1:] != (1,):
        raise CorruptModel(path, "the last layer must have one column")
    return layers
