"""An exported model as a torch model again: what is shipped is where training on one's own catalog starts.

Weights stored in 8 bits come back as the multiples of their scales that they are; activations are no longer
rounded. The answers differ from the exported model's by no more than its quantisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_models.errors import CorruptModel, UnsupportedModel
from toolrank_models.manifest import MODEL, TOKENIZER, Kind, Manifest, read_file, read_manifest

Array = NDArray[np.float32]
_PARTS = ("query", "key", "value")


class Reopened(NamedTuple):
    """A transformers BERT with exported weights, the content of its `tokenizer.json`, and its manifest."""

    module: Any
    tokenizer: bytes
    manifest: Manifest


def reopen(folder: Path) -> Reopened:
    """The torch model of a model folder; a sequence classifier of one label, or a body without pooler.

    Raises:
        CorruptModel: a file is missing, differs from the manifest, or is no graph of ours.
        UnsupportedModel: neither an encoder nor a cross-encoder.
    """
    import onnx

    manifest = read_manifest(folder)
    if manifest.kind not in {"encoder", "cross_encoder"}:
        raise UnsupportedModel(f"{folder}: a model of kind {manifest.kind!r} has no transformer to train")
    tokenizer = read_file(folder, manifest, TOKENIZER)
    graph = onnx.load_model_from_string(read_file(folder, manifest, MODEL)).graph
    try:
        return Reopened(_module(_Exported(graph), manifest), tokenizer, manifest)
    except (KeyError, RuntimeError, StopIteration) as error:
        raise CorruptModel(folder / MODEL, f"not a graph that was exported here ({error})") from error


def reopen_as(folder: Path, kind: Kind) -> Reopened:
    """`reopen` for a training that goes on from models of one kind.

    Raises:
        CorruptModel: as `reopen`.
        UnsupportedModel: a model of another kind.
    """
    opened = reopen(folder)
    if opened.manifest.kind != kind:
        raise UnsupportedModel(f"{folder}: a model of kind {opened.manifest.kind!r}, wanted: {kind!r}")
    return opened


class _Exported:
    """Constants of a graph by the names that `export.transformer` gives them."""

    def __init__(self, graph: Any) -> None:  # noqa: ANN401
        from onnx import numpy_helper

        self.constants: Mapping[str, NDArray[Any]] = {
            item.name: numpy_helper.to_array(item) for item in graph.initializer
        }
        self.heads = _attribute(graph, "MultiHeadAttention", "num_heads").i
        self.epsilon = _attribute(graph, "LayerNormalization", "epsilon").f
        self.layers = sum(node.op_type == "MultiHeadAttention" for node in graph.node)

    def linear(self, name: str, site: str) -> Array:
        """Weight (out, in), as torch has it."""
        weight = self.constants[f"{name}.weight"].astype(np.float32)
        if f"{name}.scale" in self.constants:
            weight = weight * self.constants[f"{name}.scale"]
        if f"{site}.input.smooth" in self.constants:
            weight = weight * self.constants[f"{site}.input.smooth"][:, None]
        return np.ascontiguousarray(weight.T, np.float32)

    def words(self) -> Array:
        """Word embeddings (vocabulary, hidden)."""
        words = self.constants["words"].astype(np.float32)
        scale = self.constants.get("words.scale")
        return words if scale is None else np.asarray(words * scale, np.float32)


def _attribute(graph: Any, operator: str, name: str) -> Any:  # noqa: ANN401
    node = next(node for node in graph.node if node.op_type == operator)
    return next(attribute for attribute in node.attribute if attribute.name == name)


def _module(exported: _Exported, manifest: Manifest) -> Any:  # noqa: ANN401
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    tensors = _tensors(exported)
    words = tensors["embeddings.word_embeddings.weight"]
    config = BertConfig(
        vocab_size=words.shape[0],
        hidden_size=words.shape[1],
        num_hidden_layers=exported.layers,
        num_attention_heads=exported.heads,
        intermediate_size=tensors["encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=tensors["embeddings.position_embeddings.weight"].shape[0],
        layer_norm_eps=exported.epsilon,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=1,
        attn_implementation="eager",  # see `TrainableCrossEncoder.from_body`
    )
    if manifest.kind == "encoder":
        module = BertModel(config, add_pooling_layer=False)
    else:
        module = BertForSequenceClassification(config)
        tensors = {f"bert.{name}": value for name, value in (tensors | _pooler(exported)).items()}
        tensors |= _classifier(exported)
    found = module.load_state_dict(
        {k: torch.from_numpy(np.array(v)) for k, v in tensors.items()}, strict=False
    )
    if missing := [name for name in found.missing_keys if not name.endswith("_ids")]:
        raise KeyError(missing[0])
    return module.eval()


def _tensors(exported: _Exported) -> dict[str, Array]:
    constants = exported.constants
    tensors: dict[str, Array] = {
        "embeddings.word_embeddings.weight": exported.words(),
        "embeddings.position_embeddings.weight": constants["positions"],
        "embeddings.token_type_embeddings.weight": constants["token_types"],
        **_norm(exported, "embeddings.LayerNorm"),
    }
    for layer in range(exported.layers):
        name = f"encoder.layer.{layer}"
        attention = f"{name}.attention.self"
        biases = np.split(constants[f"{attention}.bias"], len(_PARTS))
        for part, bias in zip(_PARTS, biases, strict=True):
            site = f"{attention}.{_PARTS[0]}"
            tensors[f"{attention}.{part}.weight"] = exported.linear(f"{attention}.{part}", site)
            tensors[f"{attention}.{part}.bias"] = bias
        for dense in ("attention.output.dense", "intermediate.dense", "output.dense"):
            tensors[f"{name}.{dense}.weight"] = exported.linear(f"{name}.{dense}", f"{name}.{dense}")
            tensors[f"{name}.{dense}.bias"] = constants[f"{name}.{dense}.bias"]
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            tensors |= _norm(exported, f"{name}.{norm}")
    return tensors


def _norm(exported: _Exported, name: str) -> dict[str, Array]:
    return {
        f"{name}.weight": exported.constants[f"{name}.scale"],
        f"{name}.bias": exported.constants[f"{name}.shift"],
    }


def _pooler(exported: _Exported) -> dict[str, Array]:
    return {
        "pooler.dense.weight": np.ascontiguousarray(exported.constants["pooler.weight"].T),
        "pooler.dense.bias": exported.constants["pooler.bias"],
    }


def _classifier(exported: _Exported) -> dict[str, Array]:
    return {
        "classifier.weight": exported.constants["classifier.weight"][None, :],
        "classifier.bias": exported.constants["classifier.bias"],
    }
