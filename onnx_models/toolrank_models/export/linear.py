"""How a dense layer is stored and multiplied: in floats, with int8 weights, or in int8 throughout.

Quantisation is written as ONNX QuantizeLinear/DequantizeLinear pairs, so that any provider can run the file;
onnxruntime turns them into integer kernels on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolrank_models.export.graph import Graph

Array = NDArray[np.float32]
Width = type[np.float32] | type[np.float16]


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
