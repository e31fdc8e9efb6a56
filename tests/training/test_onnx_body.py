"""A BERT comes back from an archive whose ONNX file has nameless, transposed matrices."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_models.errors import UnsupportedModel  # noqa: E402
from kitpick_training.onnx_body import unpack_body  # noqa: E402

pytestmark = pytest.mark.needs("torch")


def exported(module) -> bytes:
    """The parameters of a BERT as torch's exporter names them: a MatMul and an Add for each dense layer."""
    from onnx import helper, numpy_helper

    constants, nodes = [], []
    for number, (name, value) in enumerate(module.state_dict().items()):
        array = value.numpy()
        if name.endswith(".weight") and array.ndim == 2 and "embeddings" not in name:
            matrix, bias = f"onnx::MatMul_{number}", f"{name.removesuffix('weight')}bias"
            constants.append(numpy_helper.from_array(np.ascontiguousarray(array.T), matrix))
            nodes.append(helper.make_node("MatMul", ["x", matrix], [f"product_{number}"]))
            nodes.append(helper.make_node("Add", [bias, f"product_{number}"], [f"sum_{number}"]))
        else:
            constants.append(numpy_helper.from_array(array, name))
    graph = helper.make_graph(nodes, "bert", [], [], constants)
    return helper.make_model(graph).SerializeToString()


@pytest.fixture
def module():
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=20, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=96
    )
    return BertModel(config, add_pooling_layer=False).eval()


def packed(tmp_path, files):
    path = tmp_path / "model.jar"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_the_folder_answers_like_the_model(tmp_path, module):
    from transformers import AutoModel

    archive = packed(tmp_path, {"a/bert.onnx": exported(module), "a/bert-tokenizer.json": b"{}"})
    unpack_body(archive, tmp_path / "body")
    again = AutoModel.from_pretrained(tmp_path / "body", add_pooling_layer=False).eval()
    ids = torch.arange(1, 9)[None]
    with torch.inference_mode():
        expected, found = (each(input_ids=ids).last_hidden_state for each in (module, again))
    assert torch.allclose(expected, found, atol=1e-6)
    assert (tmp_path / "body" / "tokenizer.json").read_bytes() == b"{}"


@pytest.mark.parametrize("missing", ["encoder.layer.1.output.dense.bias", "embeddings.LayerNorm.weight"])
def test_a_parameter_that_is_missing_is_noticed(tmp_path, module, missing):
    import onnx

    model = onnx.load_model_from_string(exported(module))
    kept = [item for item in model.graph.initializer if item.name != missing]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    archive = packed(tmp_path, {"bert.onnx": model.SerializeToString(), "tokenizer.json": b"{}"})
    with pytest.raises(UnsupportedModel, match="no archive with one BERT"):
        unpack_body(archive, tmp_path / "body")


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "model.jar").write_bytes(b"PK nothing")
    with pytest.raises(UnsupportedModel):
        unpack_body(tmp_path / "model.jar", tmp_path / "body")
