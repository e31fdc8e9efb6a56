"""Weights to start from: of exported models, and the mean of several trainings.

An exported model becomes a torch model again: what is shipped is where training on one's own catalog starts.
Weights stored in 8 bits come back as the multiples of their scales that they are; activations are no longer
rounded. The answers differ from the exported model's by no more than its quantisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from kitpick_models.errors import CorruptModel, UnsupportedModel
from kitpick_models.manifest import MANIFEST, MODEL, TOKENIZER, Kind, Manifest, read_file, read_manifest
from kitpick_training.errors import BrokenCheckpoint
from kitpick_training.loop import BEST, load_best

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
        UnsupportedModel: neither an encoder nor a cross-encoder, or two encoders as one.
    """
    from kitpick_training.export.apart import holds_pair
    from kitpick_training.export.stored import stored_model

    manifest = read_manifest(folder)
    if manifest.kind not in {"encoder", "cross_encoder"}:
        raise UnsupportedModel(f"{folder}: a model of kind {manifest.kind!r} has no transformer to train")
    tokenizer = read_file(folder, manifest, TOKENIZER)
    graph = stored_model(folder, manifest).graph
    if holds_pair(graph):
        raise UnsupportedModel(
            f"{folder}: two encoders as one, of which this training takes one: "
            f"python -m kitpick_training.export.apart {folder} FOLDER writes them to FOLDER/0 and FOLDER/1"
        )
    try:
        return Reopened(_module(_Exported(graph), manifest), tokenizer, manifest)
    except (KeyError, RuntimeError, StopIteration) as error:
        raise CorruptModel(folder / MODEL, f"not a graph that was exported here ({error})") from error


def reopen_as(folder: Path, kind: Kind) -> Reopened:
    """`reopen` for a training that goes on from models of one kind.

    Raises:
        CorruptModel: as `reopen`.
        UnsupportedModel: as `reopen`, or a model of another kind.
    """
    found = read_manifest(folder).kind
    if found != kind:
        raise UnsupportedModel(f"{folder}: a model of kind {found!r}, wanted: {kind!r}")
    return reopen(folder)


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
        from kitpick_training.export.pair import PACKED, SCALE, PackedWords

        if PACKED in self.constants:
            return PackedWords(self.constants[PACKED], self.constants[SCALE]).unpacked()
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


class Origin(msgspec.Struct, frozen=True):
    """Where weights come from: the steps of runs, and exported models; several mean their average."""

    steps: tuple[int, ...] = ()
    models: tuple[Manifest, ...] = ()

    def words(self) -> str:
        """For a manifest; nothing where nothing was loaded."""
        if not self.steps and not self.models:
            return ""
        if len(self.steps) == 1 and not self.models:
            return f"trained for {self.steps[0]} steps"
        names = [f"of {model.identity}" for model in self.models]
        if self.steps:
            names.append(f"after {' and '.join(map(str, sorted(self.steps)))} steps")
        return f"mean of the weights {' and '.join(names)}"


def load_average(model: Any, folders: Sequence[Path]) -> Origin:  # noqa: ANN401
    """Puts the mean of several trainings' weights into a model of their shape.

    As good as their ensemble, at the price of one model, where all were trained further from the same weights
    (Wortsman et al. 2022, Model soups).

    Args:
        model: a torch module.
        folders: of `TrainingRun`s, whose best weights count, or of exported models. With none, the model
            stays as it is. A cross-encoder takes those of an encoder as its body.

    Raises:
        BrokenCheckpoint: a run was not validated yet, or something has another shape.
        CorruptModel, UnsupportedModel: as `reopen`.
    """
    found = [_weights(folder, model) for folder in folders]
    if not found:
        return Origin()
    try:
        mean = {name: _mean([each.tensors[name] for each in found]) for name in found[0].tensors}
        model.load_state_dict(mean)
    except (RuntimeError, KeyError) as error:
        raise BrokenCheckpoint(folders[-1] / BEST, f"does not fit the others ({error})") from error
    return Origin(
        tuple(each.source for each in found if isinstance(each.source, int)),
        tuple(each.source for each in found if isinstance(each.source, Manifest)),
    )


def trained_from(base: str, origin: Origin) -> str:
    """For a manifest: what a training began with, and what became of it."""
    if len(origin.models) == 1 and not origin.steps:
        return origin.models[0].base_model
    words = origin.words()
    return f"{base}{', from there ' if ', ' in base else ', '}{words}" if words else base


def with_what_it_knew(manifest: Manifest, before: Sequence[Manifest]) -> Manifest:
    """A manifest that also names the data and the tools that the models before its training had learned from.

    It reads as many tokens as they did: a training on shorter texts takes nothing away.
    """
    data = {each.name: each for known in before for each in known.training}
    data |= {each.name: each for each in manifest.training}
    return msgspec.structs.replace(
        manifest,
        training=tuple(data.values()),
        seen=tuple(sorted({tool for each in (manifest, *before) for tool in each.seen})),
        max_tokens=max(each.max_tokens for each in (manifest, *before)),
    )


class _Weights(NamedTuple):
    tensors: Mapping[str, torch.Tensor]
    source: int | Manifest


def _weights(folder: Path, model: Any) -> _Weights:  # noqa: ANN401
    own = model.state_dict()
    if not (folder / MANIFEST).is_file():
        best = load_best(folder)
        return _Weights(_fitting(best["model"], own), int(best["step"]))
    opened = reopen(folder)
    # an encoder is exported without the pooler, which nothing reads
    pooler = {name: value for name, value in own.items() if name.startswith("pooler.")}
    return _Weights(_fitting(pooler | opened.module.state_dict(), own), opened.manifest)


def _fitting(
    tensors: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor]
) -> Mapping[str, torch.Tensor]:
    """The tensors, or those of an encoder as the body of a classifier, which keeps its own head."""
    body = "bert."
    if not any(name.startswith(body) for name in own) or any(name.startswith(body) for name in tensors):
        return tensors
    return {**own, **{f"{body}{name}": value for name, value in tensors.items()}}


def _mean(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    first = tensors[0]
    return torch.stack(list(tensors)).mean(0) if first.is_floating_point() else first


def freeze(model: Any, layers: int) -> None:  # noqa: ANN401
    """Leaves the lowest layers of a BERT classifier as they are, and with them all that they read.

    Args:
        model: a sequence classifier on a BERT body; changed in place.
        layers: how many; 0: none.
    """
    if layers:
        model.bert.embeddings.requires_grad_(False)
        model.bert.encoder.layer[:layers].requires_grad_(False)
