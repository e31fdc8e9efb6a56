"""A small builder of ONNX graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from kitpick_models.graph_file import MICROSOFT

Shape = tuple[str | int, ...]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_OPSET = 20
_IR_VERSION = 9
"""Read by every onnxruntime since 1.17."""


class Graph:
    """Nodes and constants, added in order. A value is known by its name."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """Adds a constant once and returns its name."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def add(self, operator: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:  # noqa: ANN401
        """Adds a node and returns the name of its output."""
        output = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], output, domain=domain, **attributes))
        return output

    def model(self, outputs: Sequence[tuple[str, Shape]]) -> bytes:
        """The serialised model; the inputs are `INPUTS`, int64 (batch, tokens), the outputs float32."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in INPUTS
        ]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
        graph = helper.make_graph(self._nodes, "bert", inputs, results, list(self._constants.values()))
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="kitpick"
        )
        onnx.checker.check_model(model)
        data: bytes = model.SerializeToString(deterministic=True)
        return data
