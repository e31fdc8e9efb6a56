"""Trees of LightGBM as an ONNX tree ensemble whose splits decide as LightGBM's do.

Thresholds are rounded down to float32, so that no float32 value changes sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def tree_ensemble(booster: Any, features: int) -> bytes:  # noqa: ANN401
    """The trees as one `TreeEnsembleRegressor`: float32 (n, features) → logits, float32 (n, 1)."""
    import onnx
    from onnx import TensorProto, helper

    table = _Nodes()
    for number, tree in enumerate(booster.dump_model()["tree_info"]):
        table.add_tree(number, tree["tree_structure"])
    node = helper.make_node(
        "TreeEnsembleRegressor", ["features"], ["logits"], domain="ai.onnx.ml", n_targets=1,
        aggregate_function="SUM", post_transform="NONE", **table.attributes(),
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "list_ranker",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="kitpick")
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def float32_below(threshold: float) -> float:
    """The largest float32 value not above a threshold: x ≤ it exactly where x ≤ threshold, for float32 x."""
    rounded = np.float32(threshold)
    # As Python's floats: numpy compares a float32 with a Python float in float32, where they are equal.
    return float(rounded if float(rounded) <= threshold else np.nextafter(rounded, np.float32(-np.inf)))


class _Nodes:
    """The columns that ONNX describes trees by."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[Any]] = {
            name: []
            for name in (
                "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values",
                "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true",
            )
        }  # fmt: skip
        self._leaves: dict[str, list[Any]] = {
            name: [] for name in ("target_treeids", "target_nodeids", "target_ids", "target_weights")
        }
        self._count = 0

    def add_tree(self, tree: int, root: dict[str, Any]) -> None:
        """Adds a tree as LightGBM dumps it."""
        self._count = 0
        self._add(tree, root)

    def attributes(self) -> dict[str, list[Any]]:
        """What the ONNX node is made of."""
        return {**self._nodes, **self._leaves}

    def _add(self, tree: int, node: dict[str, Any]) -> int:
        number = self._count
        self._count += 1
        place = len(self._nodes["nodes_treeids"])
        leaf = "leaf_value" in node
        row = (
            tree,
            number,
            0 if leaf else int(node["split_feature"]),
            "LEAF" if leaf else "BRANCH_LEQ",
            0.0 if leaf else float32_below(float(node["threshold"])),
            0,
            0,
            0 if leaf else int(bool(node["default_left"])),
        )
        for column, value in zip(self._nodes.values(), row, strict=True):
            column.append(value)
        if leaf:
            for column, value in zip(
                self._leaves.values(), (tree, number, 0, float(node["leaf_value"])), strict=True
            ):
                column.append(value)
        else:
            self._nodes["nodes_truenodeids"][place] = self._add(tree, node["left_child"])
            self._nodes["nodes_falsenodeids"][place] = self._add(tree, node["right_child"])
        return number
