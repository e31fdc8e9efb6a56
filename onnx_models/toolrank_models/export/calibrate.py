"""Scales of static int8: for each input of dense layers, those that change the layer's output least.

Inputs of dense layers in a BERT hold a few channels 20 times larger than the rest, so one scale for all of
them wastes most of the 8 bits. Part of that spread is moved into the weights (SmoothQuant), and the range may
be cut below the largest value seen. Which of both, and how much, is chosen per input by the squared error of
the quantised product against the exact one on real texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from toolrank_models.export.linear import InputScale, quantise_columns

Array = NDArray[np.float32]

_ALPHAS = (None, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Share of the spread that goes into the weights; None leaves all of it in the input."""
_TAILS = (0.0, 1e-5, 1e-4, 3e-4)
"""Fraction of values cut off at either end."""
_ROWS = 3_000
"""Token rows a layer is judged on."""


def choose_scales(
    sites: Mapping[str, Array], inputs: Callable[[str], Array], rng: np.random.Generator
) -> dict[str, InputScale]:
    """The best `InputScale` of every site.

    Args:
        sites: weights (in, out) that read the input of each site, side by side.
        inputs: float32 (rows, in): what the layer saw on the calibration texts.
        rng: draws the rows on which the choice is made; ranges come from all of them.
    """
    return {site: _best(inputs(site), weight, rng) for site, weight in sites.items()}


def _best(x: Array, weight: Array, rng: np.random.Generator) -> InputScale:
    rows = x[rng.choice(len(x), min(_ROWS, len(x)), replace=False)]
    exact = rows @ weight
    candidates = list(_candidates(x, weight))
    return min(candidates, key=lambda scale: squared_error(rows, weight, scale, exact))


def _candidates(x: Array, weight: Array) -> Iterator[InputScale]:
    largest, columns = np.abs(x).max(axis=0), np.abs(weight).max(axis=1)
    for alpha in _ALPHAS:
        smooth = None if alpha is None else _smoothing(largest, columns, alpha)
        scaled = x if smooth is None else x / smooth
        ends = np.quantile(scaled, [*_TAILS, *(1 - tail for tail in _TAILS)]).reshape(2, -1)
        for low, high in zip(np.minimum(ends[0], 0), np.maximum(ends[1], 0), strict=True):
            step = max(float(high - low) / 255, 1e-12)
            yield InputScale(step, round(-float(low) / step), smooth)


def _smoothing(largest: Array, columns: Array, alpha: float) -> Array:
    spread = np.maximum(largest, 1e-5) ** alpha / np.maximum(columns, 1e-5) ** (1 - alpha)
    return np.asarray(np.maximum(spread, 1e-5), np.float32)


def squared_error(x: Array, weight: Array, scale: InputScale, exact: Array) -> float:
    """Mean squared difference between the quantised and the exact product."""
    smooth = np.float32(1) if scale.smooth is None else scale.smooth
    steps = np.clip(np.rint(x / smooth / scale.scale) + scale.zero, 0, 255) - scale.zero
    values, columns = quantise_columns(weight if scale.smooth is None else weight * scale.smooth[:, None])
    found = (steps.astype(np.float32) @ values.astype(np.float32)) * (columns * np.float32(scale.scale))
    return float(np.square(found - exact).mean())
