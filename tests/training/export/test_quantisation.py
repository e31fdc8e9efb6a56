"""Dividing a value projection first, instead of the attention's output later, changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_models.session import Session
from kitpick_models.settings import RuntimeSettings

pytestmark = [pytest.mark.needs("torch", "onnxruntime"), pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def bert():
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertModel

    from kitpick_training.export.original import bert_weights

    torch.manual_seed(0)
    return bert_weights(
        BertModel(
            BertConfig(
                vocab_size=40,
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=64,
                initializer_range=0.3,
            )
        ).eval()
    )


def scales(smooth):
    from kitpick_training.export.quantisation import InputScale

    return {f"encoder.layer.{layer}.attention.output.dense": InputScale(0.1, 3, smooth) for layer in range(2)}


def hidden(bert):
    from kitpick_training.export.graph import Graph
    from kitpick_training.export.quantisation import Float
    from kitpick_training.export.transformer import Transformer, mean_pooled

    graph = Graph()
    states = Transformer(graph, bert, Float(), int8_words=False).hidden_states()
    session = Session(graph.model([mean_pooled(graph, bert, states)]), "fp32", RuntimeSettings(threads=1))
    ids = np.arange(24, dtype=np.int64).reshape(2, 12)
    return session.run((ids, np.ones_like(ids), np.zeros_like(ids)))


def divided(bert, smooth):
    """The weights that read the attention's output take the factor back, so the model stays what it was."""
    from kitpick_training.export.quantisation import fold_attention

    folded, left = fold_attention(bert, scales(smooth))
    assert all(scale.smooth is None and scale.zero == 3 for scale in left.values())
    return folded


def test_the_model_computes_the_same(bert):
    smooth = np.geomspace(0.1, 10, 32).astype(np.float32)
    np.testing.assert_allclose(hidden(divided(bert, smooth)), hidden(bert), atol=1e-5)


def test_what_needs_no_smoothing_stays_to_the_bit(bert):
    same = divided(bert, None)
    assert all(np.array_equal(same.tensors[name], bert.tensors[name]) for name in bert.tensors)
