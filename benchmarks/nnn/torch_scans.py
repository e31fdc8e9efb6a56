"""The matrix products of a batch on a GPU, or wherever torch computes: only what is near comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kitpick_rescorers.errors import RescorerError
from kitpick_rescorers.nnn.corpus import Corpus, Float32, Float64, Rows
from nnn.scans import Near

_BLOCK = 131_072
"""Rows of the corpus in one product: with 64 vectors its outcome takes 32 MB."""


class MissingTorch(RescorerError):
    """torch is not installed."""

    def __init__(self) -> None:
        super().__init__("scans by torch need it: pip install torch")


class ImprecisePrecision(RescorerError):
    """torch is set to take products in less than float32."""

    def __init__(self, precision: str) -> None:
        super().__init__(
            f"products in {precision!r} precision prove nothing: "
            "torch.set_float32_matmul_precision('highest')"
        )


class TorchScans:
    """Keeps the corpus on a device: `solve_batch(…, scans=TorchScans(corpus, "cuda"))`.

    Args:
        corpus: The documents; n · d floats of the device's memory.
        device: As torch names it.

    Raises:
        MissingTorch: torch is not installed.
    """

    def __init__(self, corpus: Corpus, device: str = "cuda") -> None:
        try:
            import torch
        except ImportError as error:
            raise MissingTorch from error
        self._torch: Any = torch
        self._corpus = corpus
        self._documents = torch.from_numpy(corpus.documents).to(device)

    def best(self, vectors: Float64, count: int) -> Sequence[tuple[Rows, Float32]]:
        """The `count` rows of largest correlation with each vector (b, d), and these.

        Raises:
            ImprecisePrecision: torch is set to a lower precision.
        """
        torch, found = self._torch, []
        for start, scores in self._products(vectors):
            values, rows = torch.topk(scores, min(count, scores.shape[1]), dim=1, sorted=False)
            found.append((values, rows + start))
        values, rows = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
        if values.shape[1] > count:
            values, places = torch.topk(values, count, dim=1, sorted=False)
            rows = torch.gather(rows, 1, places)
        return list(zip(rows.cpu().numpy(), values.cpu().numpy(), strict=True))

    def above(self, vectors: Float64, floor: float) -> Sequence[Near]:
        """Every row whose correlation with a vector (b, d) is above the floor, ascending.

        Raises:
            ImprecisePrecision: torch is set to a lower precision.
        """
        torch, pairs = self._torch, []
        errors = np.array([self._corpus.scan_error(vector) for vector in vectors])
        least = torch.from_numpy((floor - errors).astype(np.float32)).to(self._documents.device)[:, None]
        for start, scores in self._products(vectors):
            which, rows = torch.nonzero(scores > least, as_tuple=True)
            pairs.append([part.cpu().numpy() for part in (which, rows + start, scores[which, rows])])
        which, rows, scores = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(1, len(vectors)))
        parts = (np.split(rows[order], ends), np.split(scores[order], ends), errors.tolist())
        return [Near(*part) for part in zip(*parts, strict=True)]

    def _products(self, vectors: Float64) -> Any:  # noqa: ANN401 - pairs of a first row and a tensor
        torch = self._torch
        if (precision := torch.get_float32_matmul_precision()) != "highest":
            raise ImprecisePrecision(precision)
        left = torch.from_numpy(vectors.astype(np.float32)).to(self._documents.device)
        for start in range(0, len(self._documents), _BLOCK):
            yield start, left @ self._documents[start : start + _BLOCK].T
