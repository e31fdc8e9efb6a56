"""Stored graphs, by the names that the export of one encoder gives, wherever they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from msgspec import UNSET
from onnx import TensorProto, helper

from kitpick_models.graph_file import read_graph
from kitpick_models.manifest import Manifest
from kitpick_training.export.graph import INPUTS


def stored_model(folder: Path, manifest: Manifest) -> Any:  # noqa: ANN401
    """The ONNX model of a folder; of a part of a joined encoder that part alone.

    Raises:
        CorruptModel: missing, another file than its manifest names, or one without this part.
    """
    model = onnx.load_model_from_string(read_graph(folder, manifest))
    if manifest.part is UNSET:
        return model
    number, point, _ = manifest.part.output.partition(".")
    return half_of(model, number + point, manifest.part.output)


def half_of(model: Any, prefix: str, output: str) -> Any:  # noqa: ANN401
    """What was put into a pair under a prefix, by its own names.

    Args:
        model: the pair, or a part of it.
        prefix: of the names of nodes and constants.
        output: the value that is put out, with the prefix.
    """
    kept = [_without(node, prefix) for node in model.graph.node if node.name.startswith(prefix)]
    constants = [_constant(each, prefix) for each in model.graph.initializer if each.name.startswith(prefix)]
    inputs = [each for each in model.graph.input if each.name in INPUTS]
    vector = helper.make_tensor_value_info(
        output.removeprefix(prefix), TensorProto.FLOAT, ["batch", "numbers"]
    )
    graph = helper.make_graph(kept, "bert", inputs, [vector], constants)
    half = helper.make_model(
        graph,
        opset_imports=list(model.opset_import),
        ir_version=model.ir_version,
        producer_name=model.producer_name,
    )
    onnx.checker.check_model(half)
    return half


def _without(node: Any, prefix: str) -> Any:  # noqa: ANN401
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.name = node.name.removeprefix(prefix)
    found.input[:] = [name.removeprefix(prefix) for name in node.input]
    found.output[:] = [name.removeprefix(prefix) for name in node.output]
    return found


def _constant(constant: Any, prefix: str) -> Any:  # noqa: ANN401
    found = onnx.TensorProto()
    found.CopyFrom(constant)
    found.name = constant.name.removeprefix(prefix)
    return found
