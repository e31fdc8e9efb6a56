"""Replaces quantised layers of a file by the fused operators that a processor runs fastest.

The file says QuantizeLinear and DequantizeLinear around a plain product, which every device understands.
onnxruntime makes integer products of them on a CPU, but leaves the bias as a separate addition and
attention with three products before it. The answers are the same to the last bit: sums of integers are exact,
and every float is computed in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kitpick_models.graph_file import MICROSOFT, GraphFile, Node

_PRODUCT = "MatMulIntegerToFloat"
_NO_BIAS = 6
"""Inputs of a product without a bias: both factors, their scales, their zero points."""


def fused(model: bytes) -> bytes:
    """The model with integer products that add their bias, and with quantised attention.

    A graph that has none of it, or that is written otherwise than ours, is returned as it is.
    """
    try:
        graph = GraphFile(model)
        _fuse_products(graph)
        _fuse_attention(graph)
    except (ValueError, LookupError):
        return model
    graph.drop_unread()
    return graph.serialised()


def _fuse_products(graph: GraphFile) -> None:
    made_by, read_by = _producers(graph.nodes), _readers(graph)
    products = {node.output: found for node in graph.nodes if (found := _product(node, made_by, graph))}
    added: set[Node] = set()
    for output, product in products.items():
        reader = read_by[output]
        if len(reader) == 1 and (bias := _bias(reader[0], output, product, graph)):
            products[output] = product._replace(inputs=(*product.inputs, bias), outputs=reader[0].outputs)
            added.add(reader[0])
    graph.nodes = [products.get(node.output, node) for node in graph.nodes if node not in added]


def _product(node: Node, made_by: dict[str, Node], graph: GraphFile) -> Node | None:
    """The integer product that a MatMul of dequantised factors, the second constant, stands for."""
    factors = [made_by.get(name) for name in node.inputs] if node.operator == "MatMul" else []
    left, right = factors or (None, None)
    if left is None or right is None or {left.operator, right.operator} != {"DequantizeLinear"}:
        return None
    if graph.shape(right.inputs[0]) is None or len(left.inputs) != 3 or len(right.inputs) != 3:
        return None
    inputs = tuple(name for pair in zip(left.inputs, right.inputs, strict=True) for name in pair)
    return Node(_PRODUCT, inputs, node.outputs, MICROSOFT)


def _bias(reader: Node, output: str, product: Node, graph: GraphFile) -> str:
    """The constant row that `reader` adds to the product; empty where it does something else."""
    if reader.operator != "Add":
        return ""
    (other,) = [name for name in reader.inputs if name != output] or ("",)
    columns = (graph.shape(product.inputs[1]) or ())[-1:]
    return other if graph.shape(other) == columns else ""


def _fuse_attention(graph: GraphFile) -> None:
    made_by, read_by = _producers(graph.nodes), _readers(graph)
    graph.nodes = [
        _attention(node, made_by, graph) if _is_self_attention(node, made_by, read_by) else node
        for node in graph.nodes
    ]


def _is_self_attention(node: Node, made_by: dict[str, Node], read_by: dict[str, list[Node]]) -> bool:
    """Whether queries, keys and values are products, without bias and for it alone, of the same input."""
    if node.operator != "MultiHeadAttention" or len(node.inputs) != 5:
        return False
    made = [made_by.get(name) for name in node.inputs[:3]]
    if not all(part and part.operator == _PRODUCT and len(part.inputs) == _NO_BIAS for part in made):
        return False
    same_input = len({part.inputs[::2] for part in made if part}) == 1
    return same_input and all(len(read_by[name]) == 1 for name in node.inputs[:3])


def _attention(node: Node, made_by: dict[str, Node], graph: GraphFile) -> Node:
    made = [made_by[name] for name in node.inputs[:3]]
    weight, scale, zero = (
        graph.add_constant(
            f"{node.output}.{name}",
            np.concatenate([graph.constant(part.inputs[place]) for part in made], axis=-1),
        )
        for name, place in (("weight", 1), ("scale", 3), ("zero", 5))
    )
    rows, _, rows_scale, _, rows_zero, _ = made[0].inputs
    bias, mask = node.inputs[3:]
    inputs = (rows, weight, bias, rows_scale, scale, mask, rows_zero, zero)
    return Node("QAttention", inputs, node.outputs, MICROSOFT, node.attributes)


def _producers(nodes: Iterable[Node]) -> dict[str, Node]:
    return {output: node for node in nodes for output in node.outputs}


def _readers(graph: GraphFile) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {output: [] for node in graph.nodes for output in node.outputs}
    for node in graph.nodes:
        for name in node.inputs:
            if name in found:
                found[name].append(node)
    return found
