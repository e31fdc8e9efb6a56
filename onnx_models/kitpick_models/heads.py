"""The two small models that judge candidates: one or several tools, and a fusion of all evidence.

A query-kind head reads a request's vector, a list ranker features of each candidate in its list.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.errors import in_brief
from kitpick_models.encoders import sigmoid
from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import HEAD, MODEL, Manifest, read_file
from kitpick_models.session import open_session
from kitpick_models.settings import RuntimeSettings


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
        if manifest.features:
            raise CorruptModel(folder / HEAD, "reads features of a list, which no stage computes any more")
        self.threshold = manifest.thresholds.get("multi", 0.5)
        self._layers = _read_layers(folder / HEAD, read_file(folder, manifest, HEAD))

    def probability_multi(self, vector: NDArray[np.float32]) -> float:
        """Probability in (0, 1) that the request of this vector, float32 (d,), needs more than one tool."""
        x = np.asarray(vector, np.float32)
        for position, (weight, bias) in enumerate(self._layers):
            x = (np.maximum(x, 0) if position else x) @ weight + bias
        return float(sigmoid(x)[0])


def _read_layers(path: Path, data: bytes) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            count = sum(name.startswith("weight_") for name in arrays.files)
            layers = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(count)]
    except Exception as error:  # whatever readers of archives raise, there is no head
        raise CorruptModel(path, f"not a head: {_reason(error)}") from error
    if not layers or layers[-1][0].shape[1:] != (1,):
        raise CorruptModel(path, "the last layer must have one column")
    width = layers[0][0].shape[:1]
    for weight, bias in layers:
        if weight.ndim != 2 or weight.shape[:1] != width or bias.shape != weight.shape[1:]:
            raise CorruptModel(path, "its layers do not fit one another")
        if weight.dtype != np.float32 or bias.dtype != np.float32 or not _finite(weight, bias):
            raise CorruptModel(path, "weights must be float32 and finite")
        width = bias.shape
    return layers


def _finite(*arrays: NDArray[Any]) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {in_brief(error)}"


class ListRanker:
    """Gradient-boosted trees behind onnxruntime, and a logistic regression over the whole list.

    `model.onnx` maps features, float32 (n, f), to logits, float32 (n, 1). `head.npz` is the logistic
    regression that tells whether anything in a list serves the request: `names` (g,) of what it reads,
    `weight`, `mean` and `scale` (g,), `bias` (), all float64. Safe to use from several threads.
    """

    def __init__(self, folder: Path, manifest: Manifest, settings: RuntimeSettings) -> None:
        self.manifest = manifest
        self.identity = manifest.identity
        self.features: Sequence[str] = manifest.features
        """Names of the columns that the trees read, in their order."""
        self._session = open_session(folder, manifest, settings)
        self._try_out(folder / MODEL)
        self._head = _Head(folder / HEAD, read_file(folder, manifest, HEAD))
        self.evidence: Sequence[str] = self._head.names
        """Names of what `probability_answerable` reads of a list, in their order."""
        self.threshold = manifest.thresholds.get("abstain", 0.5)
        """Probability that the list answers the request, below which nothing should be recommended."""
        self.cohort_margin = manifest.thresholds.get("over_cohort")
        """Log-odds that a list needs above what is typical of a catalog's unanswerable requests, or None."""

    def _try_out(self, path: Path) -> None:
        """Runs the graph once: it must read these features, and give one number for each candidate."""
        try:
            found = self._session.run([np.zeros((2, len(self.features)), np.float32)]).size
        except Exception as error:  # of onnxruntime
            raise CorruptModel(path, f"does not read the features: {_reason(error)}") from error
        if found != 2:
            raise CorruptModel(path, f"answers {found} numbers for 2 candidates")

    def misfit(self, encoder: str, cross_encoder: str) -> str:
        """Why it cannot be used beside models of these identities; empty if it can.

        Features of other models than those it learned with mean other things. An empty identity, here or in
        the manifest, fits any.
        """
        own, others = (self.manifest.encoder, self.manifest.cross_encoder), (encoder, cross_encoder)
        if all("" in pair or len({*pair}) == 1 for pair in zip(own, others, strict=True)):
            return ""
        learned, beside = (" and ".join(filter(None, identities)) for identities in (own, others))
        return (
            f"{self.identity} learned beside {learned}, in use are {beside}: choose one whole model set with "
            "KITPICK_MODELS, or train a list ranker for these models"
        )

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits, float32 (n,), of candidates whose features are the rows, float32 (n, f).

        Raises:
            NotFinite: the trees answered NaN or infinity.
        """
        return self._session.run([np.ascontiguousarray(features, np.float32)]).reshape(-1)

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated probabilities in (0, 1) that candidates serve the request, float32 (n,)."""
        return sigmoid(logits / self.manifest.temperature)

    def probability_answerable(self, evidence: NDArray[np.float64]) -> float:
        """Probability in (0, 1) that anything serves the request, by what is read of the list, (g,)."""
        return self._head.probability(evidence)


class _Head:
    """Logistic regression over standardised values."""

    def __init__(self, path: Path, data: bytes) -> None:
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                self._weight, self._mean, self._scale = (
                    arrays[name].astype(np.float64) for name in ("weight", "mean", "scale")
                )
                self._bias = float(arrays["bias"])
                self.names = tuple(str(name) for name in arrays["names"])
        except Exception as error:  # whatever readers of archives raise, there is no head
            raise CorruptModel(path, f"not a logistic regression: {_reason(error)}") from error
        shapes = {self._weight.shape, self._mean.shape, self._scale.shape}
        if shapes != {(len(self.names),)} or not (self._scale > 0).all():
            told = "weight, mean and scale must have one value a name, scale a positive one"
            raise CorruptModel(path, told)
        if not _finite(self._weight, self._mean, self._scale, np.array(self._bias)):
            raise CorruptModel(path, "weight, mean, scale and bias must be finite")

    def probability(self, evidence: NDArray[np.float64]) -> float:
        standard = (np.asarray(evidence, np.float64) - self._mean) / self._scale
        return float(sigmoid(np.array([standard @ self._weight + self._bias], np.float32))[0])
