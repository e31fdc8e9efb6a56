"""BERT as an ONNX graph (Devlin et al. 2019), built node by node from its weights, with a head on top.

Building it, rather than tracing torch and fusing what the trace left, gives the same graph for every torch
version, attention that is fused by construction, and a place for every quantisation. Parity with torch is
checked on stored scores, see `reference`.

Both heads, a unit vector and one logit, are written so that a row's sums have the same shape whatever the
batch: a reduction over tokens as one matrix product a row (a batch of one would take another kernel of
ReduceSum), and last layer and pooler on two tokens (a product with a single row would take another kernel of
MatMul).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from kitpick_models.graph_file import MICROSOFT
from kitpick_training.export.graph import Graph, Shape
from kitpick_training.export.original import Bert
from kitpick_training.export.quantisation import Array, Linear, Width

_PARTS = ("query", "key", "value")


class Site(NamedTuple):
    """An input of dense layers: its value in the graph and the layers that read it."""

    value: str
    layers: tuple[str, ...]


class Transformer:
    """Writes the embedding and the layers of a BERT into a graph and remembers the inputs of dense layers.

    Args:
        graph: where the nodes go.
        bert: the weights.
        linear: how dense layers are stored and multiplied.
        int8_words: keep word embeddings as int8 with a scale a word.
        width: of all other numbers.
    """

    def __init__(
        self, graph: Graph, bert: Bert, linear: Linear, *, int8_words: bool, width: Width = np.float32
    ) -> None:
        self.graph, self.bert, self.linear = graph, bert, linear
        self._int8_words, self._width = int8_words, width
        self.sites: dict[str, Site] = {}

    def hidden_states(self, first: int | None = None) -> str:
        """Last hidden states, float32 (batch, tokens, hidden): of all tokens, or of the first so many.

        Of the others the last layer then computes keys and values only, which is a sixth of its work.
        """
        x = self._embedding()
        mask = self.graph.add("Cast", ["attention_mask"], to=TensorProto.INT32)
        for layer in range(self.bert.layers):
            name = f"encoder.layer.{layer}"
            last = layer == self.bert.layers - 1
            rows = self._first(x, first) if last and first is not None else x
            x = self._add_norm(self._attention(rows, x, mask, name), rows, f"{name}.attention.output")
            x = self._add_norm(self._feed_forward(x, name), x, f"{name}.output")
        return x if self._width is np.float32 else self.graph.add("Cast", [x], to=TensorProto.FLOAT)

    def _first(self, x: str, count: int) -> str:
        ends = [self.graph.constant(f"int.{i}", np.full(1, i, np.int64)) for i in (0, count, 1)]
        return self.graph.add("Slice", [x, *ends])

    def _embedding(self) -> str:
        g, tensors = self.graph, self.bert.tensors
        types = self._constant("token_types", tensors["embeddings.token_type_embeddings.weight"])
        places = self._constant("positions", tensors["embeddings.position_embeddings.weight"])
        first, axis = g.constant("first", np.zeros(1, np.int64)), g.constant("rows", np.zeros(1, np.int64))
        length = g.add("Shape", ["input_ids"], start=1, end=2)
        x = g.add("Add", [self._words(), g.add("Gather", [types, "token_type_ids"])])
        x = g.add("Add", [x, g.add("Slice", [places, first, length, axis])])
        return self._norm(x, "embeddings.LayerNorm")

    def _words(self) -> str:
        g, words = self.graph, self.bert.tensors["embeddings.word_embeddings.weight"]
        if not self._int8_words:
            return g.add("Gather", [self._constant("words", words), "input_ids"])
        scale = np.maximum(np.abs(words).max(axis=1, keepdims=True) / 127, 1e-12).astype(np.float32)
        values = g.constant("words", np.rint(words / scale).astype(np.int8))
        rows = g.add("Cast", [g.add("Gather", [values, "input_ids"])], to=TensorProto.FLOAT)
        return g.add("Mul", [rows, g.add("Gather", [g.constant("words.scale", scale), "input_ids"])])

    def _attention(self, rows: str, x: str, mask: str, name: str) -> str:
        """What `rows` find in x; their queries are quantised as x is."""
        parts = [f"{name}.attention.self.{part}" for part in _PARTS]
        biases = np.concatenate([self.bert.linear(part)[1] for part in parts])
        bias = self._constant(f"{name}.attention.self.bias", biases)
        self.sites[parts[0]] = Site(x, tuple(parts))
        products = [
            self._product(read, parts[0], part) for read, part in zip((rows, x, x), parts, strict=True)
        ]
        mixed = self.graph.add(
            "MultiHeadAttention", [*products, bias, mask], domain=MICROSOFT, num_heads=self.bert.heads
        )
        return self._dense(mixed, f"{name}.attention.output.dense")

    def _feed_forward(self, x: str, name: str) -> str:
        inner = f"{name}.intermediate.dense"
        bias = self._constant(f"{inner}.bias", self.bert.linear(inner)[1])
        x = self.graph.add("Gelu", [self.graph.add("Add", [self._only_product(x, inner), bias])])
        return self._dense(x, f"{name}.output.dense")

    def _dense(self, x: str, name: str) -> str:
        bias = self._constant(f"{name}.bias", self.bert.linear(name)[1])
        return self.graph.add("Add", [self._only_product(x, name), bias])

    def _only_product(self, x: str, name: str) -> str:
        self.sites[name] = Site(x, (name,))
        return self._product(x, name, name)

    def _product(self, x: str, site: str, name: str) -> str:
        return self.linear.multiply(self.graph, x, site, name, self.bert.linear(name)[0])

    def _add_norm(self, x: str, skip: str, name: str) -> str:
        return self._norm(self.graph.add("Add", [x, skip]), f"{name}.LayerNorm")

    def _norm(self, x: str, name: str) -> str:
        scale, shift = self.bert.norm(name)
        inputs = [x, self._constant(f"{name}.scale", scale), self._constant(f"{name}.shift", shift)]
        return self.graph.add("LayerNormalization", inputs, axis=-1, epsilon=self.bert.epsilon)

    def _constant(self, name: str, value: Array) -> str:
        return self.graph.constant(name, value.astype(self._width))


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
