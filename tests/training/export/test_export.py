"""An exported model answers like the torch model it came from, whatever the storage and the company."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kitpick_models.errors import UnsupportedModel
from kitpick_models.locate import find_model
from kitpick_models.manifest import Manifest, digest
from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_models.verify import read_reference

pytestmark = [pytest.mark.needs("torch", "onnxruntime", "weights"), pytest.mark.filterwarnings("default")]

SETTINGS = RuntimeSettings(threads=1)
TEXTS = [f"text {n}: " + " ".join(f"word{k}" for k in range(n)) for n in range(1, 30)]
PAIRS = [(f"request {n}", text) for n, text in enumerate(TEXTS)]
STORAGES = ["fp32", "fp16", "weight_int8", "static_int8"]
FARTHEST = {"fp32": 1e-4, "fp16": 0.01, "weight_int8": 0.1, "static_int8": 0.3}
"""Largest difference of logits whose spread is about 2."""


def config(**changes):
    from transformers import BertConfig

    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    return BertConfig(vocab_size=30_522, num_labels=1, **{**small, **changes})


@pytest.fixture(scope="module")
def tokenizer() -> bytes:
    return (find_model("minilm-l6").parent / "tokenizer.json").read_bytes()


@pytest.fixture(scope="module")
def classifier(tokenizer):
    import torch
    from transformers import BertForSequenceClassification

    from kitpick_training.export.original import Original

    torch.manual_seed(0)
    module = BertForSequenceClassification(config(initializer_range=0.3)).eval()
    return Original(module, tokenizer)


def manifest(storage) -> Manifest:
    return Manifest("small", "cross_encoder", "1", "random", "none", storage=storage, max_tokens=64)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_cross_encoder_scores_like_its_original(tmp_path: Path, classifier, storage):
    from kitpick_training.export import export_cross_encoder

    export_cross_encoder(classifier, tmp_path, manifest(storage), PAIRS, PAIRS)
    model = load_cross_encoder(tmp_path, SETTINGS)
    expected = np.array(read_reference(tmp_path, model.manifest).logits)
    found = np.array([model.score(query, [text])[0] for query, text in PAIRS])
    assert expected.std() > 0.3
    assert np.abs(found - expected).max() < FARTHEST[storage]


@pytest.mark.parametrize("storage", STORAGES)
def test_a_pair_scores_the_same_to_the_last_bit_alone_and_in_company(tmp_path: Path, classifier, storage):
    from kitpick_training.export import export_cross_encoder

    export_cross_encoder(classifier, tmp_path, manifest(storage), PAIRS, PAIRS[:2])
    model = load_cross_encoder(tmp_path, SETTINGS)
    together = model.score("a request", TEXTS)
    alone = [model.score("a request", [text])[0] for text in TEXTS]
    assert np.array_equal(together, np.array(alone))
    assert model.score("a request", []).shape == (0,)


@pytest.mark.parametrize("storage", STORAGES)
def test_an_encoder_gives_the_vectors_of_its_original(tmp_path: Path, classifier, storage):
    from kitpick_training.export import export_encoder
    from kitpick_training.export.original import Original

    body = Original(classifier.module.bert, classifier.tokenizer)
    written = export_encoder(body, tmp_path, manifest(storage), TEXTS, TEXTS)
    encoder = load_encoder(tmp_path, SETTINGS)
    expected = read_reference(tmp_path, written).array(32)
    assert (encoder.encode(TEXTS) * expected).sum(axis=1).min() > 0.99
    assert written.dimensions == 32


def test_attention_is_one_node_a_layer_and_int8_covers_every_dense_layer(tmp_path: Path, classifier):
    import onnx

    from kitpick_training.export import export_cross_encoder

    export_cross_encoder(classifier, tmp_path, manifest("static_int8"), PAIRS, PAIRS[:2])
    nodes = onnx.load(tmp_path / "model.onnx").graph.node
    produced_by = {output: node.op_type for node in nodes for output in node.output}
    assert sum(node.op_type == "MultiHeadAttention" for node in nodes) == 2
    dense = [node for node in nodes if node.op_type == "MatMul" and "pooler.weight" not in node.input]
    assert len(dense) == 2 * 6
    assert all(produced_by[name] == "DequantizeLinear" for node in dense for name in node.input)


def test_in_fp16_every_number_of_the_transformer_has_half_the_width(tmp_path: Path, classifier):
    import onnx

    from kitpick_training.export import export_cross_encoder

    export_cross_encoder(classifier, tmp_path, manifest("fp16"), [], PAIRS[:2])
    graph = onnx.load(tmp_path / "model.onnx").graph
    wide = {tensor.name for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    assert wide == {"pooler.weight", "pooler.bias", "classifier.weight", "classifier.bias"}
    assert graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_the_folder_is_complete_and_an_export_can_be_repeated_to_the_byte(tmp_path: Path, classifier):
    from kitpick_training.export import export_cross_encoder

    for name in ("one", "two"):
        export_cross_encoder(classifier, tmp_path / name, manifest("weight_int8"), [], PAIRS[:3])
    contents = [
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())}
        for name in ("one", "two")
    ]
    assert contents[0] == contents[1]
    named = json.loads(contents[0]["manifest.json"])["files"]
    assert named == {name: digest(contents[0][name]) for name in named}
    assert {*named, "manifest.json", "CARD.md"} == set(contents[0])


def test_another_activation_is_refused(tmp_path: Path, tokenizer):
    from transformers import BertModel

    from kitpick_training.export import export_encoder
    from kitpick_training.export.original import Original

    relu = Original(BertModel(config(hidden_act="relu")).eval(), tokenizer)
    with pytest.raises(UnsupportedModel, match="GELU"):
        export_encoder(relu, tmp_path, manifest("fp32"), [], TEXTS[:1])
