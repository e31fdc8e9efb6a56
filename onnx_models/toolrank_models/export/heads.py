"""What stands on the last hidden states: a unit vector, or one logit.

Both are written so that a row's sums have the same shape whatever the batch: a reduction over tokens as one
matrix product a row (a batch of one would take another kernel of ReduceSum), and last layer and pooler on
two tokens (a product with a single row would take another kernel of MatMul).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from toolrank_models.export.bert import Bert
from toolrank_models.export.graph import Graph, Shape


class Head(NamedTuple):
    """A head, and how many tokens' states it reads, from the first on; None for all."""

    write: Callable[[Graph, Bert, str], tuple[str, Shape]]
    tokens: int | None


def mean_pooled(graph: Graph, bert: Bert, hidden: str) -> tuple[str, Shape]:
    """Mean of the tokens scaled to length 1, float32 (batch, hidden). The divisor cancels in the scaling."""
    axis = graph.constant("one", np.ones(1, np.int64))
    weights = graph.add("Unsqueeze", [graph.add("Cast", ["attention_mask"], to=TensorProto.FLOAT), axis])
    total = graph.add("Squeeze", [graph.add("MatMul", [weights, hidden]), axis])
    return graph.add("LpNormalization", [total], axis=-1, p=2), ("batch", bert.hidden)


def classifier_logit(graph: Graph, bert: Bert, hidden: str) -> tuple[str, Shape]:
    """Logit of the dense-tanh pooler and the classifier on the first of two tokens, float32 (batch,)."""
    two = graph.constant("int.2", np.full(1, 2, np.int64))
    (pool, pool_bias), (weight, bias) = bert.linear("pooler.dense"), bert.linear("classifier")
    pooled = graph.add("MatMul", [hidden, graph.constant("pooler.weight", pool)])
    pooled = graph.add("Tanh", [graph.add("Add", [pooled, graph.constant("pooler.bias", pool_bias)])])
    weighted = graph.add("Mul", [pooled, graph.constant("classifier.weight", weight[:, 0])])
    logits = graph.add("ReduceSum", [weighted, two], keepdims=0)
    first = graph.add("Gather", [logits, graph.constant("int.first", np.int64(0))], axis=1)
    return graph.add("Add", [first, graph.constant("classifier.bias", bias[:1])]), ("batch",)


VECTOR = Head(mean_pooled, None)
LOGIT = Head(classifier_logit, 2)
