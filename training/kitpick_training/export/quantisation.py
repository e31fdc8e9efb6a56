"""How a dense layer is stored and multiplied: in floats, with int8 weights, or in int8 throughout.

Quantisation is written as ONNX QuantizeLinear/DequantizeLinear pairs, so that any provider can run the file;
onnxruntime turns them into integer kernels on a CPU.

Int8 throughout needs a scale for each input of dense layers: the one that changes the layer's output least.
Inputs of dense layers in a BERT hold a few channels 20 times larger than the rest, so one scale for all of
them wastes most of the 8 bits. Part of that spread is moved into the weights (SmoothQuant, Xiao et al. 2023),
and the range may be cut below the largest value seen. Which of both, and how much, is chosen per input by the
squared error of the quantised product against the exact one on real texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_training.export.graph import Graph
from kitpick_training.export.original import Bert

Array = NDArray[np.float32]
Width = type[np.float32] | type[np.float16]
_ALPHAS = (None, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Share of the spread that goes into the weights; None leaves all of it in the input."""
_TAILS = (0.0, 1e-5, 1e-4, 3e-4)
"""Fraction of values cut off at either end."""
_ROWS = 3_000
"""Token rows a layer is judged on."""


class InputScale(NamedTuple):
    """How the input x of a dense layer becomes 8 bits: round(x / smooth / scale) + zero, in 0 … 255."""

    scale: float
    zero: int
    smooth: Array | None
    """Per-channel divisor (in,), multiplied back into the weight (SmoothQuant, Xiao et al. 2023, eq. 3)."""


class Linear(Protocol):
    """Adds the product of an input with a weight, without bias."""

    def multiply(self, graph: Graph, x: str, site: str, name: str, weight: Array) -> str:
        """X @ weight (in, out). `site` names the input: products of one input share its quantisation."""


class Float:
    """Floats throughout, of the width of the transformer it stands in.

    Args:
        width: float32, or float16 for processors that multiply those faster.
    """

    def __init__(self, width: Width = np.float32) -> None:
        self._width = width

    def multiply(self, graph: Graph, x: str, site: str, name: str, weight: Array) -> str:
        """See `Linear`."""
        return graph.add("MatMul", [x, graph.constant(f"{name}.weight", weight.astype(self._width))])


class WeightInt8:
    """int8 weights with a scale per column; computes in float32."""

    def multiply(self, graph: Graph, x: str, site: str, name: str, weight: Array) -> str:
        """See `Linear`."""
        return graph.add("MatMul", [x, _stored(graph, name, weight)])


class StaticInt8:
    """int8 products: inputs quantised by scales found beforehand, so that no row depends on its company."""

    def __init__(self, scales: Mapping[str, InputScale]) -> None:
        self._scales = scales
        self._quantised: dict[tuple[str, str], str] = {}

    def multiply(self, graph: Graph, x: str, site: str, name: str, weight: Array) -> str:
        """See `Linear`."""
        scale = self._scales[site]
        if (x, site) not in self._quantised:
            self._quantised[x, site] = _quantised(graph, x, site, scale)
        if scale.smooth is not None:
            weight = weight * scale.smooth[:, None]
        return graph.add("MatMul", [self._quantised[x, site], _stored(graph, name, weight)])


def quantise_columns(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """int8 weight (in, out) in −127 … 127 and its scale per column (out,)."""
    scale = np.maximum(np.abs(weight).max(axis=0) / 127, 1e-12).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


def _stored(graph: Graph, name: str, weight: Array) -> str:
    values, scale = quantise_columns(weight)
    inputs = [
        graph.constant(f"{name}.weight", values),
        graph.constant(f"{name}.scale", scale),
        graph.constant(f"{name}.zero", np.zeros(len(scale), np.int8)),
    ]
    return graph.add("DequantizeLinear", inputs, axis=1)


def _quantised(graph: Graph, x: str, site: str, scale: InputScale) -> str:
    if scale.smooth is not None:
        x = graph.add(
            "Mul", [x, graph.constant(f"{site}.input.smooth", (1 / scale.smooth).astype(np.float32))]
        )
    step = graph.constant(f"{site}.input.scale", np.float32(scale.scale))
    zero = graph.constant(f"{site}.input.zero", np.uint8(scale.zero))
    return graph.add("DequantizeLinear", [graph.add("QuantizeLinear", [x, step, zero]), step, zero])


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


def fold_attention(bert: Bert, scales: Mapping[str, InputScale]) -> tuple[Bert, dict[str, InputScale]]:
    """Divides the channels of every value projection by what its attention's output is to be divided by.

    Attention mixes tokens, never channels, so the division may come first; the output's weight takes the
    factor back as it would have done (SmoothQuant, Xiao et al. 2023, eq. 3).
    """
    tensors, found = dict(bert.tensors), dict(scales)
    for layer in range(bert.layers):
        attention = f"encoder.layer.{layer}.attention"
        site, value = f"{attention}.output.dense", f"{attention}.self.value"
        smooth = found[site].smooth
        if smooth is not None:
            tensors[f"{value}.weight"] = tensors[f"{value}.weight"] / smooth[:, None]
            tensors[f"{value}.bias"] = tensors[f"{value}.bias"] / smooth
            tensors[f"{site}.weight"] = tensors[f"{site}.weight"] * smooth
            found[site] = found[site]._replace(smooth=None)
    return bert._replace(tensors=tensors), found
