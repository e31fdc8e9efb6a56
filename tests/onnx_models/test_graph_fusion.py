"""A fused graph answers to the last bit as the graph in the file."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_models import session
from kitpick_models.graph_file import GraphFile, read_graph
from kitpick_models.graph_fusion import fused
from kitpick_models.locate import find_model
from kitpick_models.manifest import read_manifest
from kitpick_models.session import Session, saturates
from kitpick_models.settings import RuntimeSettings

pytestmark = pytest.mark.needs("onnxruntime", "weights")

SETTINGS = RuntimeSettings(threads=1)
LAYERS = {"minilm-l6": 6, "reranker-l6": 6, "encoder-pair": 18}
"""Of the shipped models that are stored as static int8."""


def model(name: str) -> bytes:
    folder = find_model(name)
    return read_graph(folder, read_manifest(folder))


def operators(data: bytes) -> list[str]:
    return [node.operator for node in GraphFile(data).nodes]


@pytest.mark.parametrize(("name", "layers"), LAYERS.items())
def test_every_layer_has_one_attention_and_no_product_is_left_unfused(name, layers):
    found = operators(fused(model(name)))
    assert found.count("QAttention") + found.count("MultiHeadAttention") == layers
    assert found.count("QAttention") >= layers - 1
    assert found.count("MatMulIntegerToFloat") >= 3 * layers
    assert "DequantizeLinear" not in found


@pytest.mark.skipif(saturates(), reason="fast products are not exact here")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shape", [(1, 8), (3, 40), (4, 112)])
def test_answers_are_equal_to_the_last_bit(name, shape, monkeypatch):
    rng = np.random.default_rng(0)
    ids = rng.integers(1_000, 20_000, shape)
    mask, types = np.ones_like(ids), np.zeros_like(ids)
    mask[:, -2:], types[:, 5:] = 0, 1
    fast = Session(model(name), "static_int8", SETTINGS).run((ids, mask, types))
    monkeypatch.setattr(session, "fused", lambda data: data)
    plain = Session(model(name), "static_int8", SETTINGS).run((ids, mask, types))
    np.testing.assert_array_equal(fast, plain)


def test_a_fused_graph_is_left_alone_the_second_time():
    once = fused(model("minilm-l6"))
    assert operators(fused(once)) == operators(once)


@pytest.mark.parametrize("data", [b"", b"no model", b"\x3a\x03\x0a\x01x", b"\x3a\x02\x2a\x00"])
def test_what_is_no_graph_of_ours_is_left_to_the_runtime(data):
    assert fused(data) == data
